package plain

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ErrNotPlain is wrapped by every error of Check.
var ErrNotPlain = errors.New("not plain data")

// Check refuses a type that is not plain data, and says which field breaks the
// contract: a pointer, map, func, chan or interface; a float (two zeros, and NaN
// is not itself); a type inside itself; an owned slice inside a payload slice
// (the clone shares the payload, and with it what should have been copied).
func Check(t reflect.Type) error {
	return check(t, t.String(), false, nil)
}

func check(t reflect.Type, at string, payload bool, above []reflect.Type) error {
	for _, u := range above {
		if u == t {
			return fmt.Errorf("%w: %s holds its own type %s", ErrNotPlain, at, t)
		}
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	case reflect.Array:
		return check(t.Elem(), at+"[]", payload, append(above, t))
	case reflect.Slice:
		return check(t.Elem(), at+"[]", true, append(above, t))
	case reflect.Struct:
		if owner(t) && payload {
			return fmt.Errorf("%w: %s is owned state inside a payload slice: a clone would share it", ErrNotPlain, at)
		}
		for i := range t.NumField() {
			f := t.Field(i)
			// What an owner's slice holds is copied with it, so it may own in turn.
			in := payload
			ft := f.Type
			if owner(t) && ft.Kind() == reflect.Slice {
				ft = ft.Elem()
			}
			if err := check(ft, at+"."+f.Name, in, append(above, t)); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%w: %s is a %s (%s): hold values, and results by index in core.Results", ErrNotPlain, at, t.Kind(), t)
}

// owner reports whether a type is one of the two that own a slice.
func owner(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == "nova/core" &&
		(strings.HasPrefix(t.Name(), "Group[") || strings.HasPrefix(t.Name(), "Results["))
}
