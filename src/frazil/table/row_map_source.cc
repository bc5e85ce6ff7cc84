#include "frazil/table/row_map_source.h"

#include <algorithm>
#include <limits>

namespace frazil::table {
namespace {

constexpr int64_t kDropped = -1;

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "{}", what); }

RowMap::Target TargetAt(const RowMapSource::OutputStarts& starts, int64_t place) {
  const auto after = std::upper_bound(starts.begin(), starts.end(), place);
  const auto output = static_cast<size_t>(after - starts.begin()) - 1;
  return {static_cast<uint32_t>(output), spec::RowPosition(place - starts[output])};
}

}  // namespace

Result<RowMapSource> RowMapSource::Make(const RowMapSourceBlob& blob, int64_t record_count,
                                        const OutputStarts& starts) {
  RowMapSource source;
  source.record_count_ = record_count;
  source.kind_ = blob.kind;
  source.width_ = blob.width;
  source.dropped_ = RankedSet(blob.dropped, record_count);
  if (blob.kind == RowMapKind::kArray) {
    source.array_ = blob.data;
    FRAZIL_TRY(source.CheckArray(blob, starts));
  } else {
    FRAZIL_ASSIGN(source.segments_, RowSegments::Decode(blob.data, source.num_carried()));
  }
  return source;
}

Status RowMapSource::CheckArray(const RowMapSourceBlob& blob, const OutputStarts& starts) const {
  if (blob.data.size() % width_ != 0 || blob.data.size() / width_ != static_cast<uint64_t>(record_count_)) {
    return Corrupt("an array holds another number of rows than the source");
  }
  for (int64_t position = 0; position < record_count_; ++position) {
    const int64_t place = ArrayAt(position);
    const bool is_dropped = dropped_.Find(position).contains;
    if (is_dropped ? place != kDropped : place < 0 || place >= starts.back()) {
      return Corrupt("an array names a place outside of the outputs");
    }
  }
  return {};
}

int64_t RowMapSource::ArrayAt(int64_t position) const {
  const std::byte* at = array_.data() + position * width_;
  if (width_ == sizeof(uint64_t)) return LoadLittle<int64_t>(at);
  const auto place = LoadLittle<uint32_t>(at);
  return place == std::numeric_limits<uint32_t>::max() ? kDropped : int64_t{place};
}

void RowMapSource::FindAll(const OutputStarts& starts, std::span<const int64_t> positions,
                           std::span<std::optional<RowMap::Target>> out) const {
  RowSegments::Cursor cursor(segments_);
  for (size_t i = 0; i < positions.size(); ++i) {
    out[i].reset();
    const int64_t position = positions[i];
    if (position < 0 || position >= record_count_) continue;
    if (kind_ == RowMapKind::kArray) {
      const int64_t place = ArrayAt(position);
      if (place != kDropped) out[i] = TargetAt(starts, place);
      continue;
    }
    const RankedSet::Answer dropped = dropped_.Find(position);
    if (dropped.contains) continue;
    const int64_t ordinal = position - dropped.rank;
    const RowSegment& segment = cursor.Seek(ordinal);
    out[i] = RowMap::Target{segment.output, spec::RowPosition(segment.start + ordinal - segment.ordinal)};
  }
}

void RowMapSource::ForEachPiece(const OutputStarts& starts,
                                const std::function<void(uint32_t output, int64_t start, int64_t length)>& take) const {
  if (kind_ == RowMapKind::kSegments) {
    RowSegments::Cursor cursor(segments_);
    while (cursor.Next()) take(cursor.segment().output, cursor.segment().start, cursor.segment().length);
    return;
  }
  for (int64_t position = 0; position < record_count_; ++position) {
    const int64_t place = ArrayAt(position);
    if (place == kDropped) continue;
    const RowMap::Target target = TargetAt(starts, place);
    take(target.output, target.position.value(), 1);
  }
}

}  // namespace frazil::table
