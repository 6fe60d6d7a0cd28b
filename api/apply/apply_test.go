package apply_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// fill sets every field, down to the elements of lists, to something that is not empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		switch at := v.Addr().Interface().(type) {
		case *metav1.Time:
			*at = metav1.Unix(int64(time.Hour/time.Second), 0)
			return
		case *resource.Quantity:
			*at = resource.MustParse("7Mi")
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(7)
	default:
		v.SetInt(7)
	}
}

// same tells whether a value and its apply configuration are the same JSON.
func same[C any](t *testing.T, value any) {
	t.Helper()
	c, err := apply.From[C](value)
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	for from, to := range map[any]*map[string]any{any(c): &got, value: &want} {
		data, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%T is applied as\n%v\nwant\n%v", value, got, want)
	}
}

func TestAnApplyConfigurationSetsWhatTheValueHas(t *testing.T) {
	for name, prepare := range map[string]func(any){
		"every field":  func(v any) { fill(reflect.ValueOf(v).Elem()) },
		"empty fields": func(any) {},
	} {
		t.Run(name, func(t *testing.T) {
			spec, status, chain := &v1alpha1.ChainInstanceSpec{}, &v1alpha1.ChainInstanceStatus{}, &v1alpha1.ServiceChainStatus{}
			function := &v1alpha1.NetworkFunctionStatus{}
			for _, v := range []any{spec, status, chain, function} {
				prepare(v)
			}
			same[configuration.ChainInstanceSpecApplyConfiguration](t, spec)
			same[configuration.ChainInstanceStatusApplyConfiguration](t, status)
			same[configuration.ServiceChainStatusApplyConfiguration](t, chain)
			same[configuration.NetworkFunctionStatusApplyConfiguration](t, function)
		})
	}
}

func TestConditionsAreAppliedAsTheyAre(t *testing.T) {
	list := make([]metav1.Condition, 1)
	fill(reflect.ValueOf(&list[0]).Elem())
	same[configuration.StatusApplyConfiguration](t, &v1alpha1.Status{Conditions: list})
	got, err := json.Marshal(apply.Conditions(list))
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := json.Marshal(list); string(got) != string(want) {
		t.Errorf("applied as\n%s\nwant\n%s", got, want)
	}
}
