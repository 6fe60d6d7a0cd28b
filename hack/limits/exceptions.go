package main

// exceptions are beyond a limit still: files and functions ("file: function"). C files are named without their folder. The list gets
// shorter and never longer: what is within the limits has to be taken out.
var exceptions = []string{}
