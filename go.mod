module github.com/sinter-nfv/sinter

go 1.26

require (
	google.golang.org/protobuf v1.36.12 // indirect
	lukechampine.com/uint128 v1.3.0 // indirect
)
