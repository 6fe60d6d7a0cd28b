package click

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

func init() {
	register("1/1", configurePaint, func(x *visit, p paint) target { return x.onward(0, x.painted(p.anno, p.color)) }, "Paint")
	register("1/1-2", configurePaint, enterCheckPaint, "CheckPaint").paint = true
	register("1/2", configurePaint, enterPaintTee, "PaintTee").paint = true
	register("1/-", configurePaintSwitch, enterPaintSwitch, "PaintSwitch").paint = true
}

// paint is a colour, and the annotation that has it.
type paint struct{ anno, color byte }

// defaultPaint is the annotation of elements that name none (Click's PAINT).
const defaultPaint = 16

func configurePaint(r *reader) (p paint) {
	a, ok := r.required("COLOR", "1")
	p.anno = paintAnnotation(r)
	if ok {
		n, _ := r.number(a, "a colour", 0, 255)
		p.color = byte(n)
	}
	return p
}

func paintAnnotation(r *reader) byte {
	a, ok := r.argument("ANNO")
	if !ok || a.Text == "PAINT" {
		return defaultPaint
	}
	n, _ := r.number(a, `an annotation of one byte; write PAINT`, 0, 47)
	return byte(n)
}

func enterCheckPaint(x *visit, p paint) target {
	if x.paintOf(p.anno) == p.color {
		return x.onward(0, x.state)
	}
	return x.onward(1, x.state)
}

func enterPaintTee(x *visit, p paint) target {
	if x.paintOf(p.anno) != p.color {
		return x.onward(0, x.state)
	}
	return enterTee(x, nothing{})
}

func configurePaintSwitch(r *reader) paint { return paint{anno: paintAnnotation(r)} }

// enterPaintSwitch: the colour 255 is for all outputs.
func enterPaintSwitch(x *visit, p paint) target {
	switch color := int(x.paintOf(p.anno)); {
	case color == 255:
		return enterTee(x, nothing{})
	case color >= x.outputs():
		return x.lost(fmt.Sprint("paint-", color))
	default:
		return x.onward(color, x.state)
	}
}

func init() {
	register("1/1", func(r *reader) nothing {
		r.ignore("BYTE_COUNT", "COUNT_CALL", "BYTE_COUNT_CALL", "NO_RATE", "IGNORE", "ATOMIC")
		r.all = nil
		return nothing{}
	}, func(x *visit, _ nothing) target { return x.through(element.Counter{}, 0, x.state) },
		"Counter", "CounterMP", "CounterAtomic", "AverageCounter", "AverageCounterMP", "AverageCounterIMP", "SimpleCounter")
}
