// System.Runtime.CompilerServices.Unsafe as Google.Protobuf uses it: mono has that class, but keeps it to itself.
using System.Runtime.InteropServices;

namespace System.Runtime.CompilerServices
{
    static class Unsafe
    {
        public static ref T Add<T>(ref T start, int count) => ref MemoryMarshal.CreateSpan(ref start, count + 1)[count];

        public static ref T AddByteOffset<T>(ref T start, IntPtr bytes) where T : struct =>
            ref Add(ref start, (int)bytes / Bytes(ref start).Length);

        public static ref byte As<T, TByte>(ref T value) where T : struct => ref Bytes(ref value)[0];

        public static T ReadUnaligned<T>(ref byte start) where T : struct =>
            MemoryMarshal.Read<T>(MemoryMarshal.CreateSpan(ref start, sizeof(ulong)));

        public static void WriteUnaligned<T>(ref byte start, T value) where T : struct =>
            MemoryMarshal.Write(MemoryMarshal.CreateSpan(ref start, sizeof(ulong)), ref value);

        static Span<byte> Bytes<T>(ref T value) where T : struct =>
            MemoryMarshal.AsBytes(MemoryMarshal.CreateSpan(ref value, 1));
    }
}
