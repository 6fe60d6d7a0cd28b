package rule

import "fmt"

// First is the first error that there is.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Each checks the members of a list, up to the first error.
func Each[T any](list []T, check func(int, T) error) error {
	for i, x := range list {
		if err := check(i, x); err != nil {
			return err
		}
	}
	return nil
}

// Index refuses an index into a list of n.
func Index(at, field string, i uint32, n int) error {
	if uint64(i) < uint64(n) {
		return nil
	}
	return fmt.Errorf("%s: %s is %d, but there are only %d", at, field, i, n)
}

// AtMost refuses a value above a limit.
func AtMost(at, field string, v, limit uint32) error {
	if v <= limit {
		return nil
	}
	return fmt.Errorf("%s: %s is %d, want at most %d", at, field, v, limit)
}

// Between refuses a value outside a range.
func Between(at, field string, v, least, most uint32) error {
	if v >= least && v <= most {
		return nil
	}
	return fmt.Errorf("%s: %s is %d, want %d..%d", at, field, v, least, most)
}

// Count refuses a list that is too long; at is the list's place.
func Count(at string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return fmt.Errorf("%s: there are %d, want at most %d", at, n, limit)
}

// Has refuses too many of something; at is the place of what has them.
func Has(at, what string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return fmt.Errorf("%s: has %d %s, want at most %d", at, n, what, limit)
}

// Distinct refuses two of one name: state is kept by it over a swap.
func Distinct[T interface{ GetName() string }](field string, list []T) error {
	seen := map[string]int{}
	for i, x := range list {
		if j, ok := seen[x.GetName()]; ok {
			return fmt.Errorf("%s[%d] (%s): name is that of %s[%d], want names that differ", field, i, x.GetName(), field, j)
		}
		seen[x.GetName()] = i
	}
	return nil
}
