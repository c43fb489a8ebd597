package pluginhost

import "unsafe"

// Kept until the next call: mooring writes the first and reads the second.
var request, answer []byte

//go:wasmexport mooring_alloc
func alloc(size uint32) unsafe.Pointer {
	request = make([]byte, size)
	return unsafe.Pointer(unsafe.SliceData(request))
}

//go:wasmexport mooring_call
func call(method uint32, _ unsafe.Pointer, _ uint32) uint64 {
	answer = guest.framed(method, request)
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(answer))))<<32 | uint64(len(answer))
}
