#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/table/row_map.h"

namespace frazil::table {

// The bytes of a row map. Internal to row_map*.
//
// A Puffin file whose first blob is the head and whose others are the sources, in the head's order. Each blob is
// uncompressed and has the property "xxh3" (row map checksum: 16 hexadecimal digits). Integers are little-endian.
//
//   head    u32 outputs, each: u32 length, path, i64 records
//           u32 sources, each: u32 length, path, i64 data sequence number, u8 has first row id, i64 it, i64 records
//   source  u32 its index, u8 kind, u8 width, u16 zero, u64 length, dropped positions (`deletion-vector-v1`, or nothing)
//     kSegments  row_map_segments.h (width 0)
//     kArray     by position: the row's ordinal in the outputs one after the other, of `width` (4 or 8) bytes; all ones
//                where it was dropped

inline constexpr char kRowMapHeadBlobType[] = "frazil-row-map-v1";
inline constexpr char kRowMapSourceBlobType[] = "frazil-row-map-source-v1";
inline constexpr char kRowMapChecksumProperty[] = "xxh3";

struct RowMapHead {
  std::vector<RowMap::Output> outputs;
  std::vector<RowMap::Source> sources;
};

enum class RowMapKind : uint8_t { kSegments = 0, kArray = 1 };

/// A source's blob, taken apart; `data` points into the blob.
struct RowMapSourceBlob {
  RowMapKind kind = RowMapKind::kSegments;
  uint8_t width = 0;
  format::DeletionVector dropped;
  ByteView data;
};

std::string RowMapChecksum(ByteView blob);

Bytes EncodeRowMapHead(const RowMapHead& head);
/// kCorruptData (without a path): cut off, counts out of range, a path twice.
Result<RowMapHead> DecodeRowMapHead(ByteView blob);

/// What stands before the segments or the array.
Result<Bytes> EncodeRowMapSource(uint32_t index, RowMapKind kind, uint8_t width, const format::DeletionVector& dropped);
/// kCorruptData (without a path): cut off, another source than `index`, dropped positions outside the file.
Result<RowMapSourceBlob> DecodeRowMapSource(ByteView blob, uint32_t index, int64_t record_count);

}  // namespace frazil::table
