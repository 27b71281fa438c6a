package yamlx

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

func setDuration(v reflect.Value, s string) error {
	t, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q must be a duration with its unit, such as 500ms, 15s or 2m", s)
	}
	v.SetInt(int64(t))
	return nil
}

func setBool(v reflect.Value, s string) error {
	if s != "true" && s != "false" {
		return fmt.Errorf("%q must be true or false", s)
	}
	v.SetBool(s == "true")
	return nil
}

func setInt(v reflect.Value, s string) error {
	i, err := strconv.ParseInt(s, 10, v.Type().Bits())
	if err != nil {
		most := int64(math.MaxInt64) >> (64 - v.Type().Bits())
		return fmt.Errorf("%q must be a whole number from %d to %d", s, -most-1, most)
	}
	v.SetInt(i)
	return nil
}

func setUint(v reflect.Value, s string) error {
	u, err := strconv.ParseUint(s, 10, v.Type().Bits())
	if err != nil {
		return fmt.Errorf("%q must be a whole number from 0 to %d", s, uint64(math.MaxUint64)>>(64-v.Type().Bits()))
	}
	v.SetUint(u)
	return nil
}

func setFloat(v reflect.Value, s string) error {
	f, err := strconv.ParseFloat(s, v.Type().Bits())
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%q must be a number, such as 0.8", s)
	}
	v.SetFloat(f)
	return nil
}
