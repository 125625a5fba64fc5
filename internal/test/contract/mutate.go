package contract

import (
	"math"
	"reflect"
	"strings"
	"time"
)

// operations is how many changes Mutate knows.
const operations = 9

// Mutate returns a copy of a snapshot, or of any value, with random changes: three bytes of choice each say what is
// done, where, and with what. A change takes a value out, sets it to zero, doubles it, halves a list, or puts another
// text, number or time, or a value of another place of that name, in its place. Words are texts that mean something.
func Mutate[S any](s S, choice []byte, words []string) S {
	out := Copy(s)
	for ; len(choice) >= 3; choice = choice[3:] {
		spots := spotsOf(reflect.ValueOf(&out).Elem())
		if len(spots) == 0 {
			break
		}
		// The last byte also helps to choose among more than 256 spots.
		at, with := spots[(int(choice[1])+256*int(choice[2]>>4))%len(spots)], int(choice[2])
		value := at.value
		if value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		switch choice[0] % operations {
		case 0:
			at.remove()
		case 1:
			at.set(reflect.Zero(at.value.Type()))
		case 2:
			at.double()
		case 3, 4:
			switch value.Kind() {
			case reflect.String:
				at.set(reflect.ValueOf(anotherText(spots, words, with)).Convert(value.Type()))
			case reflect.Int, reflect.Int32, reflect.Int64:
				number := numbers[with%len(numbers)]
				if value.OverflowInt(number) {
					number = math.MinInt32
				}
				at.set(reflect.ValueOf(number).Convert(value.Type()))
			case reflect.Float64: // JSON without types
				at.set(reflect.ValueOf(float64(numbers[with%len(numbers)])))
			case reflect.Bool:
				at.set(reflect.ValueOf(!value.Bool()).Convert(value.Type()))
			}
		case 5:
			if value.Kind() == reflect.Pointer {
				at.set(reflect.New(value.Type().Elem()))
			}
		case 6:
			if value.Kind() == reflect.Slice {
				at.set(value.Slice(0, value.Len()/2))
			}
		case 7:
			var alike []spot
			for _, other := range spots {
				if other.name == at.name && other.value.Type() == at.value.Type() {
					alike = append(alike, other)
				}
			}
			at.set(clone(alike[with%len(alike)].value))
		case 8:
			if value.Kind() == reflect.String {
				at.set(reflect.ValueOf(value.String() + string(rune(choice[2]))).Convert(value.Type()))
			} else if times := timesOf(spots); value.Type() == timeType && len(times) > 0 {
				at.set(times[with%len(times)])
			}
		}
	}
	return out
}

var (
	timeType = reflect.TypeFor[time.Time]()
	numbers  = []int64{0, 1, 2, 3, -1, 100, math.MaxInt32, math.MinInt32, math.MaxInt64}
	odd      = []string{"", "a/b/c", "-", "UPPER", "what", "1"}
)

// anotherText is an odd text, one of the words, or another text of the snapshot.
func anotherText(spots []spot, words []string, with int) string {
	switch with % 3 {
	case 0:
		return odd[with/3%len(odd)]
	case 1:
		if len(words) > 0 {
			return words[with/3%len(words)]
		}
	}
	var texts []string
	for _, s := range spots {
		if s.value.Kind() == reflect.String {
			texts = append(texts, s.value.String())
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return texts[with*7%len(texts)]
}

func timesOf(spots []spot) []reflect.Value {
	far := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	times := []reflect.Value{reflect.ValueOf(far)}
	for _, s := range spots {
		if s.value.Type() == timeType {
			times = append(times, s.value, reflect.ValueOf(s.value.Interface().(time.Time).Add(time.Second)))
		}
	}
	return times
}

// spot is one value inside a snapshot that is not zero.
type spot struct {
	name  string // of the field, or of the list that it is in
	value reflect.Value
	set   func(reflect.Value)
	// remove takes it out, double puts a copy behind it in a list.
	remove, double func()
}

func spotsOf(root reflect.Value) []spot {
	var spots []spot
	nothing := func() {}
	var walk func(name string, v reflect.Value, set func(reflect.Value))
	// add is a value that set replaces: in a field, in a list, or under a key of a map.
	add := func(name string, v reflect.Value, set func(reflect.Value), remove, double func()) {
		if v.IsZero() && v.Kind() != reflect.Pointer {
			return // most fields of an object
		}
		if v.Kind() != reflect.Pointer || !v.IsNil() || strings.HasSuffix(name, "[]") {
			spots = append(spots, spot{name, v, set, remove, double})
		}
		walk(name, v, set)
	}
	walk = func(name string, v reflect.Value, set func(reflect.Value)) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(name, v.Elem(), v.Elem().Set)
			}
		case reflect.Interface:
			if _, isError := v.Interface().(error); !v.IsNil() && !isError {
				walk(name, v.Elem(), set)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Field(i); v.Type().Field(i).IsExported() && f.CanSet() {
					add(v.Type().Field(i).Name, f, f.Set, f.SetZero, nothing)
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				e := v.Index(i)
				add(name+"[]", e, e.Set, func() { set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, v.Len()))) },
					func() { set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), clone(e))) })
			}
		case reflect.Map:
			for _, key := range sortedKeys(v) {
				add(name+"{}", v.MapIndex(key), func(x reflect.Value) {
					v.SetMapIndex(key, x)
				}, func() { v.SetMapIndex(key, reflect.Value{}) }, nothing)
			}
		}
	}
	walk("", root, root.Set)
	return spots
}
