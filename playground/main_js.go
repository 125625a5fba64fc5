//go:build js && wasm

package main

import (
	"encoding/json"
	"syscall/js"
	"time"

	"github.com/purekube/purekube/playground/answer"
)

// main gives the worker the function purekube: the bytes of the input and the question as JSON in, the answer as JSON
// out.
func main() {
	js.Global().Set("purekube", js.FuncOf(func(_ js.Value, args []js.Value) any {
		input := make([]byte, args[0].Get("length").Int())
		js.CopyBytesToGo(input, args[0])
		var q answer.Question
		if err := json.Unmarshal([]byte(args[1].String()), &q); err != nil {
			return `{"problems":["the question cannot be read"]}`
		}
		out, err := json.Marshal(answer.Ask(input, q, time.Now()))
		if err != nil {
			return `{"problems":["the answer cannot be written"]}`
		}
		return string(out)
	}))
	select {} // the function is called until the worker ends
}
