package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verdict is a condition's status, and why it is so.
type Verdict struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// Verdicts are what is to be said of the conditions that phases decide.
type Verdicts struct {
	Synthesized, Placed, Programmed, Scaled *Verdict
}

// True is a verdict.
func True(reason, message string) *Verdict { return &Verdict{isTrue, reason, message} }

// False is a verdict.
func False(reason, message string) *Verdict { return &Verdict{isFalse, reason, message} }

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown
)
