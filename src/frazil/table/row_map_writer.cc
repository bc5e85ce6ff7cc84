#include <algorithm>
#include <cstring>
#include <limits>

#include "frazil/format/puffin.h"
#include "frazil/table/row_map.h"
#include "frazil/table/row_map_coverage.h"
#include "frazil/table/row_map_format.h"
#include "frazil/table/row_map_places.h"
#include "frazil/table/row_map_segments.h"

namespace frazil::table {
namespace {

constexpr int kPositionBits = 40;  // kMaxRecords
constexpr int64_t kMaxOutputs = int64_t{1} << (63 - kPositionBits);

auto Wrong(std::string_view what, const std::string& path) {
  return Fail(ErrorCode::kInternal, "row map is told wrong: {}: {}", what, path);
}

template <typename T>
void AppendArray(const RowMapPlaces& places, const std::vector<int64_t>& starts, Bytes& out) {
  constexpr int64_t kPositionMask = (int64_t{1} << kPositionBits) - 1;
  size_t at = out.size();
  out.reserve(at + static_cast<size_t>(places.size()) * sizeof(T));  // resize() may take twice that
  out.resize(at + static_cast<size_t>(places.size()) * sizeof(T));
  for (int64_t position = 0; position < places.size(); ++position) {
    const int64_t place = places.Get(position);
    T value = std::numeric_limits<T>::max();
    if (place != RowMapPlaces::kDropped) {
      value = static_cast<T>(starts[static_cast<size_t>(place >> kPositionBits)] + (place & kPositionMask));
    }
    std::memcpy(out.data() + at, &value, sizeof(T));
    at += sizeof(T);
  }
}

}  // namespace

class RowMapWriter::Impl {
 public:
  struct SourceState {
    RowMap::Source source;
    format::DeletionVector dropped;
    RowSegmentWriter segments;
    RowMapPlaces places;  ///< full sort, by position: output << kPositionBits | position; else empty
    int64_t num_sorted = 0;
  };
  struct OutputState {
    RowMap::Output output;
    int64_t next_row = 0;  ///< behind the last row that was told in order
    int64_t num_rows = 0;
  };

  Result<SourceState*> Source(uint32_t source, uint32_t output) {
    if (source >= sources.size() || output >= outputs.size()) {
      return Fail(ErrorCode::kInternal, "row map has no source {} or no output {}", source, output);
    }
    return &sources[source];
  }

  Status Add(SourceState& state, uint32_t output, int64_t start, int64_t length) {
    if (!state.places.empty()) return Wrong("sorted and in order", state.source.path);
    if (length < 0 || start < 0 || length > RowMap::kMaxRecords || start > RowMap::kMaxRecords - length) {
      return Wrong("rows outside of the output", outputs[output].output.path);
    }
    state.segments.Add(output, start, length);
    outputs[output].next_row = std::max(outputs[output].next_row, start + length);
    outputs[output].num_rows += length;
    return {};
  }

  /// Ends what can still be open, fills counts in and checks everything.
  Status Finish() {
    std::vector<int64_t> record_counts;
    for (OutputState& state : outputs) {
      if (state.output.record_count < 0) state.output.record_count = state.num_rows;
      record_counts.push_back(state.output.record_count);
    }
    for (SourceState& state : sources) FRAZIL_TRY(CheckSource(state));
    const Status covered = RowMapCoverage::Check(record_counts, [&](const RowMapCoverage::Take& take) {
      for (SourceState& state : sources) ForEachPiece(state, take);
    });
    if (!covered) return Wrong(covered.error().message(), outputs.empty() ? "" : outputs.front().output.path);
    return {};
  }

  std::string temp_folder;
  MemoryBudget* budget = nullptr;
  std::vector<SourceState> sources;
  std::vector<OutputState> outputs;

 private:
  static Status CheckSource(const SourceState& state) {
    const int64_t record_count = state.source.record_count;
    if (record_count < 0 || record_count > RowMap::kMaxRecords) {
      return Fail(ErrorCode::kNotSupported, "a data file of {} rows: {}", record_count, state.source.path);
    }
    if (!state.dropped.empty() && state.dropped.Max().value() >= record_count) {
      return Wrong("a dropped position outside of the file", state.source.path);
    }
    const int64_t num_told = state.places.empty() ? state.segments.num_rows() : state.num_sorted;
    if (num_told != record_count - state.dropped.cardinality()) {
      return Wrong(fmt::format("{} of {} rows", num_told, record_count - state.dropped.cardinality()),
                   state.source.path);
    }
    return {};
  }

  static void ForEachPiece(SourceState& state, const RowMapCoverage::Take& take) {
    for (int64_t position = 0; position < state.places.size(); ++position) {
      const int64_t place = state.places.Get(position);
      if (place != RowMapPlaces::kDropped) {
        take(static_cast<uint32_t>(place >> kPositionBits), place & ((int64_t{1} << kPositionBits) - 1), 1);
      }
    }
    // Our own encoding of as many rows as were told can be decoded.
    const auto segments = RowSegments::Decode(state.segments.Finish(), state.segments.num_rows());
    RowSegments::Cursor cursor(*segments);
    while (cursor.Next()) take(cursor.segment().output, cursor.segment().start, cursor.segment().length);
  }
};

RowMapWriter::RowMapWriter(std::string temp_folder, MemoryBudget* budget) : impl_(std::make_unique<Impl>()) {
  impl_->temp_folder = std::move(temp_folder);
  impl_->budget = budget;
}
RowMapWriter::~RowMapWriter() = default;

uint32_t RowMapWriter::AddSource(RowMap::Source source, format::DeletionVector dropped) {
  Impl::SourceState& state = impl_->sources.emplace_back();
  state.source = std::move(source);
  state.dropped = std::move(dropped);
  return static_cast<uint32_t>(impl_->sources.size() - 1);
}

uint32_t RowMapWriter::AddOutput(RowMap::Output output) {
  impl_->outputs.emplace_back().output = std::move(output);
  return static_cast<uint32_t>(impl_->outputs.size() - 1);
}

Status RowMapWriter::AddOrderKept(uint32_t source, int64_t source_start, uint32_t output, int64_t output_start,
                                  int64_t length) {
  FRAZIL_ASSIGN(Impl::SourceState * state, impl_->Source(source, output));
  if (source_start < 0 || source_start > state->source.record_count ||
      source_start - state->dropped.Rank(spec::RowPosition(source_start)) != state->segments.num_rows()) {
    return Wrong(fmt::format("row {} does not follow", source_start), state->source.path);
  }
  return impl_->Add(*state, output, output_start, length);
}

Status RowMapWriter::AddMerged(uint32_t output, uint32_t source, int64_t length) {
  FRAZIL_ASSIGN(Impl::SourceState * state, impl_->Source(source, output));
  return impl_->Add(*state, output, impl_->outputs[output].next_row, length);
}

Status RowMapWriter::AddSorted(uint32_t source, spec::RowPosition position, uint32_t output,
                               spec::RowPosition output_position) {
  FRAZIL_ASSIGN(Impl::SourceState * state, impl_->Source(source, output));
  if (state->segments.num_rows() > 0) return Wrong("sorted and in order", state->source.path);
  if (output >= kMaxOutputs) return Fail(ErrorCode::kNotSupported, "a rewrite into {} files", impl_->outputs.size());
  const int64_t record_count = state->source.record_count;
  if (record_count > RowMap::kMaxRecords || position.value() < 0 || position.value() >= record_count) {
    return Wrong(fmt::format("row {}", position.value()), state->source.path);
  }
  if (output_position.value() < 0 || output_position.value() >= RowMap::kMaxRecords) {
    return Wrong(fmt::format("row {}", output_position.value()), impl_->outputs[output].output.path);
  }
  if (state->places.empty()) {
    FRAZIL_ASSIGN(state->places, RowMapPlaces::Make(record_count, impl_->temp_folder, impl_->budget));
  }
  if (state->places.Get(position.value()) != RowMapPlaces::kDropped)
    return Wrong(fmt::format("row {} twice", position.value()), state->source.path);
  if (state->dropped.Contains(position)) {
    return Wrong(fmt::format("row {} was dropped", position.value()), state->source.path);
  }
  state->places.Set(position.value(), int64_t{output} << kPositionBits | output_position.value());
  ++state->num_sorted;
  ++impl_->outputs[output].num_rows;
  return {};
}

Result<int64_t> RowMapWriter::Write(io::FileIO& io, const std::string& path) const {
  FRAZIL_TRY(impl_->Finish());
  RowMapHead head;
  std::vector<int64_t> starts{0};
  for (const Impl::OutputState& state : impl_->outputs) {
    head.outputs.push_back(state.output);
    starts.push_back(starts.back() + state.output.record_count);
  }
  for (const Impl::SourceState& state : impl_->sources) head.sources.push_back(state.source);

  FRAZIL_ASSIGN(std::unique_ptr<io::OutputFile> file, io.Create(path));
  format::PuffinWriter writer(std::move(file));
  const auto add = [&](const char* type, ByteView bytes) -> Status {
    format::PuffinBlob blob;
    blob.type = type;
    blob.properties[kRowMapChecksumProperty] = RowMapChecksum(bytes);
    FRAZIL_TRY(writer.AddBlob(std::move(blob), bytes));
    return {};
  };
  FRAZIL_TRY(add(kRowMapHeadBlobType, EncodeRowMapHead(head)));
  const bool is_narrow = starts.back() < std::numeric_limits<uint32_t>::max();
  for (uint32_t i = 0; i < impl_->sources.size(); ++i) {
    Impl::SourceState& state = impl_->sources[i];
    const bool is_array = !state.places.empty();
    const int width = is_array ? is_narrow ? 4 : 8 : 0;
    MemoryBudget::Reservation room;  // a blob is written in one piece
    if (is_array && impl_->budget != nullptr) {
      FRAZIL_ASSIGN(room, impl_->budget->Reserve(width * state.places.size(), "a row map"));
    }
    FRAZIL_ASSIGN(Bytes bytes, EncodeRowMapSource(i, is_array ? RowMapKind::kArray : RowMapKind::kSegments,
                                                  static_cast<uint8_t>(width), state.dropped));
    if (!is_array) {
      AppendBytes(bytes, state.segments.Finish());
    } else if (is_narrow) {
      AppendArray<uint32_t>(state.places, starts, bytes);
    } else {
      AppendArray<uint64_t>(state.places, starts, bytes);
    }
    FRAZIL_TRY(add(kRowMapSourceBlobType, bytes));
  }
  return writer.Finish();
}

}  // namespace frazil::table
