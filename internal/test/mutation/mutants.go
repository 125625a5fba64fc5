package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one change of a package's source. A program that has all of them makes the one whose number the environment
// variable PUREKUBE_MUTANT says.
type mutant struct {
	number   int
	file     string
	line     int
	function string
	// what is changed into what.
	what string
	// source is the line that it is in, without the blanks around it.
	source string
}

// edit is text to put at an offset of a file, in the place of what is there up to end.
type edit struct {
	offset, end int
	text        string
	// closes: it ends an expression that began before the offset. The ends of inner expressions come first.
	closes bool
	depth  int
}

// mutator collects the edits of one file.
type mutator struct {
	files    *token.FileSet
	info     *types.Info
	name     string
	source   []byte
	lines    []string
	mutants  []mutant
	first    int // number of the first mutant
	edits    []edit
	function string
}

func (m *mutator) add(at token.Pos, what string) int {
	position := m.files.Position(at)
	n := m.first + len(m.mutants)
	m.mutants = append(m.mutants, mutant{number: n, file: m.name, line: position.Line, function: m.function, what: what,
		source: strings.TrimSpace(m.lines[position.Line-1])})
	return n
}

func (m *mutator) put(from, to token.Pos, text string, closes bool, depth int) {
	m.edits = append(m.edits, edit{m.files.Position(from).Offset, m.files.Position(to).Offset, text, closes, depth})
}

// wrap puts text around a node.
func (m *mutator) wrap(n ast.Node, before, after string, depth int) {
	m.put(n.Pos(), n.Pos(), before, false, depth)
	m.put(n.End(), n.End(), after, true, depth)
}

// mutate goes through a file.
func (m *mutator) mutate(file *ast.File) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		// What a method prints is no decision.
		if !ok || f.Body == nil || f.Name.Name == "String" || f.Name.Name == "Error" {
			continue
		}
		m.function = f.Name.Name
		m.walk(f.Body)
	}
}

func (m *mutator) walk(body ast.Node) {
	var stack []ast.Node
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
			return false
		}
		depth := len(stack)
		switch n := n.(type) {
		case *ast.IfStmt:
			m.condition(n.Cond, depth)
		case *ast.ForStmt:
			if n.Cond != nil {
				m.negation(n.Cond, "a loop's condition never holds", depth)
			}
		case *ast.BinaryExpr:
			m.binary(n, depth)
		case *ast.UnaryExpr:
			if n.Op == token.NOT && !m.constant(n) {
				m.negation(n, "! left out", depth)
			}
		case *ast.Ident:
			if (n.Name == "true" || n.Name == "false") && m.info.Uses[n] == types.Universe.Lookup(n.Name) {
				m.negation(n, n.Name+" is the opposite", depth)
			}
		case *ast.BasicLit:
			m.literal(n, stack, depth)
		case *ast.BlockStmt:
			m.statements(n.List, depth)
		case *ast.CaseClause:
			m.statements(n.Body, depth)
		}
		stack = append(stack, n)
		return true
	})
}

func (m *mutator) constant(e ast.Expr) bool { return m.info.Types[e].Value != nil }

func (m *mutator) negation(e ast.Expr, what string, depth int) {
	m.wrap(e, fmt.Sprintf("mutantNot(%d, ", m.add(e.Pos(), what)), ")", depth)
}

// condition is always true, and always false.
func (m *mutator) condition(e ast.Expr, depth int) {
	n := m.add(e.Pos(), "the condition always holds")
	m.add(e.Pos(), "the condition never holds")
	m.wrap(e, fmt.Sprintf("mutantIs(%d, ", n), ")", depth)
}

func (m *mutator) binary(e *ast.BinaryExpr, depth int) {
	if m.constant(e) {
		return
	}
	basic, _ := m.info.TypeOf(e.X).Underlying().(*types.Basic)
	opEnd := e.OpPos + token.Pos(len(e.Op.String()))
	switch e.Op {
	case token.LAND, token.LOR:
		n := m.add(e.OpPos, map[token.Token]string{token.LAND: "&& is ||", token.LOR: "|| is &&"}[e.Op])
		m.add(e.OpPos, "without the right side of "+e.Op.String())
		m.add(e.OpPos, "without the left side of "+e.Op.String())
		name := map[token.Token]string{token.LAND: "mutantAnd", token.LOR: "mutantOr"}[e.Op]
		m.put(e.Pos(), e.Pos(), fmt.Sprintf("%s(%d, bool(", name, n), false, depth)
		m.put(e.OpPos, opEnd, "), func() bool { return bool(", false, depth)
		m.put(e.End(), e.End(), ") })", true, depth)
	case token.EQL, token.NEQ:
		m.negation(e, fmt.Sprintf("%s is %s", e.Op, map[token.Token]string{token.EQL: "!=", token.NEQ: "=="}[e.Op]), depth)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if basic == nil || m.constant(e.X) && m.constant(e.Y) {
			return
		}
		other := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}[e.Op]
		n := m.add(e.OpPos, fmt.Sprintf("%s is %s", e.Op, other))
		m.add(e.OpPos, fmt.Sprintf("%s is the opposite", e.Op))
		m.put(e.Pos(), e.Pos(), fmt.Sprintf("mutantCompare(%d, %q, ", n, e.Op), false, depth)
		m.put(e.OpPos, opEnd, ",", false, depth)
		m.put(e.End(), e.End(), ")", true, depth)
	case token.ADD, token.SUB:
		if t, ok := m.info.TypeOf(e).(*types.Basic); !ok || t.Info()&types.IsInteger == 0 || t.Info()&types.IsUntyped != 0 {
			return
		}
		n := m.add(e.OpPos, fmt.Sprintf("%s is the opposite", e.Op))
		m.put(e.Pos(), e.Pos(), fmt.Sprintf("mutantAdd(%d, %t, ", n, e.Op == token.ADD), false, depth)
		m.put(e.OpPos, opEnd, ",", false, depth)
		m.put(e.End(), e.End(), ")", true, depth)
	}
}

// literal is an integer that is one more.
func (m *mutator) literal(e *ast.BasicLit, stack []ast.Node, depth int) {
	t, ok := m.info.TypeOf(e).(*types.Basic)
	if e.Kind != token.INT || !ok || t.Info()&types.IsInteger == 0 || t.Info()&types.IsUntyped != 0 {
		return
	}
	for _, above := range stack {
		switch above := above.(type) {
		case *ast.ArrayType, *ast.KeyValueExpr:
			return
		case ast.Expr:
			if m.constant(above) { // a part of a constant
				return
			}
		}
	}
	if len(stack) > 0 {
		if call, ok := stack[len(stack)-1].(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "make" {
				return // a capacity
			}
		}
	}
	if v := m.info.Types[e].Value; v == nil || v.Kind() != constant.Int {
		return
	}
	m.wrap(e, fmt.Sprintf("mutantMore[%s](%d, ", t.Name(), m.add(e.Pos(), e.Value+" is one more")), ")", depth)
}

// statements are left out one by one, where the rest still compiles.
func (m *mutator) statements(list []ast.Stmt, depth int) {
	for i, s := range list {
		what := ""
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
			what = "the statement is left out"
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && !blank(s) {
				what = "the assignment is left out"
			}
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE || s.Tok == token.BREAK {
				what = s.Tok.String() + " is left out"
			}
		case *ast.ReturnStmt:
			// The last statement of a body may have to be one.
			if i < len(list)-1 || len(s.Results) == 0 {
				what = "return is left out"
			}
		}
		if what != "" {
			m.wrap(s, fmt.Sprintf("if mutantKeeps(%d) { ", m.add(s.Pos(), what)), " }", depth)
		}
	}
}

func blank(s *ast.AssignStmt) bool {
	return slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { id, ok := e.(*ast.Ident); return ok && id.Name == "_" })
}

// text is the file with all of its mutants.
func (m *mutator) text() []byte {
	slices.SortStableFunc(m.edits, func(a, b edit) int {
		switch {
		case a.offset != b.offset:
			return a.offset - b.offset
		case a.closes != b.closes:
			if a.closes {
				return -1
			}
			return 1
		case a.closes:
			return b.depth - a.depth
		}
		return a.depth - b.depth
	})
	var out []byte
	at := 0
	for _, e := range m.edits {
		out = append(out, m.source[at:e.offset]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, m.source[at:]...)
}

// runtime is what mutants call.
const runtime = `package %s

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv("PUREKUBE_MUTANT"))

// mutantReached is the file that the numbers of the mutants go to which the program comes by.
var mutantReached = os.Getenv("PUREKUBE_REACHED")

// mutantsSeen allocates nothing, since tests count allocations.
var mutantsSeen [1 << 16]atomic.Bool

func mutantReach(n, count int) {
	if mutantReached == "" {
		return
	}
	if mutantsSeen[n].Swap(true) {
		return
	}
	f, err := os.OpenFile(mutantReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	for i := range count {
		fmt.Fprintln(f, n+i)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}

func mutantKeeps(n int) bool {
	mutantReach(n, 1)
	return mutantNumber != n
}

func mutantNot(n int, v bool) bool {
	mutantReach(n, 1)
	return v != (mutantNumber == n)
}

func mutantIs(n int, v bool) bool {
	mutantReach(n, 2)
	switch mutantNumber {
	case n:
		return true
	case n + 1:
		return false
	}
	return v
}

func mutantAnd(n int, a bool, b func() bool) bool {
	mutantReach(n, 3)
	switch mutantNumber {
	case n:
		return a || b()
	case n + 1:
		return a
	case n + 2:
		return b()
	}
	return a && b()
}

func mutantOr(n int, a bool, b func() bool) bool {
	mutantReach(n, 3)
	switch mutantNumber {
	case n:
		return a && b()
	case n + 1:
		return a
	case n + 2:
		return b()
	}
	return a || b()
}

func mutantCompare[T cmp.Ordered](n int, op string, a, b T) bool {
	mutantReach(n, 2)
	boundary, opposite := mutantNumber == n, mutantNumber == n+1
	var v bool
	switch op {
	case "<":
		v = a < b || boundary && a == b
	case "<=":
		v = a <= b && !(boundary && a == b)
	case ">":
		v = a > b || boundary && a == b
	case ">=":
		v = a >= b && !(boundary && a == b)
	}
	return v != opposite
}

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func mutantAdd[T mutantInteger](n int, plus bool, a, b T) T {
	mutantReach(n, 1)
	if plus != (mutantNumber == n) {
		return a + b
	}
	return a - b
}

func mutantMore[T mutantInteger](n int, v T) T {
	mutantReach(n, 1)
	if mutantNumber == n {
		return v + 1
	}
	return v
}
`
