package main

// word is a phrase that we do not use, and what to write instead. Blanks in a phrase match line breaks of comments, too.
type word struct {
	phrase  string // a regular expression, for whole words in any case
	instead string
}

// words are picture words and old words for which the field has plain ones, and former names of things that have been renamed.
var words = []word{
	{`shall`, "must, should or will"},
	{`mend|mends|mended|mending`, "fix or correct"},
	{`anew`, "again; restarted, rewritten …"},
	{`stands? in`, "is shown in, is in, or replaces"},
	{`passed over`, "ignored or skipped"},
	{`of no account`, "ignored"},
	{`by and by`, "gradually"},
	{`begun again`, "restarted"},
	{`made of`, "built from or consists of"},
	{`chain['’]s own`, "of the chain, or that the chain defines"},
	{`who (does|wants|needs)`, `name the goal first: "to do …, …"`},
	{`rehearse|rehearses|rehearsed|rehearsals?`, "warm up, warm-up"},
	{`ability|abilities`, "capability"},
}
