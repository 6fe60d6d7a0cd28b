// Package lab makes small networks of network namespaces for tests on real packets: hosts, cables
// between them, raw sockets on their devices, and Sinter's processes in their midst.
//
// The namespaces have no names: they and all that was started in them are gone with the test
// process, however that ends.
package lab
