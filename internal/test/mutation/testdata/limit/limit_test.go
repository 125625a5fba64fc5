package limit

import "testing"

func TestLimit(t *testing.T) {
	if Limit(5, 3) != 3 || Limit(2, 3) != 2 {
		t.Error("Limit")
	}
}

func TestWithin(t *testing.T) {
	if !Within(2, 1, 3) || Within(0, 1, 3) {
		t.Error("Within")
	}
}

func TestCount(t *testing.T) {
	if n := Count([]int{-1, 0, 1, 7}, func(n int) bool { return n == 7 }); n != 2 {
		t.Error(n)
	}
}
