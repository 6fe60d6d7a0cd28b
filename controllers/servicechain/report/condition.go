package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionStatus is a condition's status, and why it is so.
type ConditionStatus struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// ConditionStatuses are what is to be said of the conditions that phases decide.
type ConditionStatuses struct {
	Synthesized, Placed, Programmed, Scaled *ConditionStatus
}

// True is a verdict.
func True(reason, message string) *ConditionStatus { return &ConditionStatus{isTrue, reason, message} }

// False is a verdict.
func False(reason, message string) *ConditionStatus {
	return &ConditionStatus{isFalse, reason, message}
}

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown
)
