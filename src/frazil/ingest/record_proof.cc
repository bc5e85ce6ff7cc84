#include "frazil/ingest/record_proof.h"

#include <charconv>
#include <set>

#include "frazil/base/hash.h"

namespace frazil::ingest {
namespace {

/// A source that says nothing for so long cannot be asked now. Gaps are no silence: positions pass them.
constexpr int kMaxEmptyPolls = 40;
constexpr std::chrono::milliseconds kPollTimeout{250};
constexpr size_t kPollRecords = 100;

template <typename Number>
bool TakeNumber(std::string_view& text, char end, int base, Number& number) {
  const size_t length = std::min(text.find(end), text.size());
  const auto [stop, error] = std::from_chars(text.data(), text.data() + length, number, base);
  if (error != std::errc() || stop != text.data() + length) return false;
  text.remove_prefix(std::min(length + 1, text.size()));
  return true;
}

}  // namespace

RecordProof ProofOf(const SourceRecord& record) {
  const std::string_view bytes = record.key ? *record.key : record.value.value_or("");
  return {.offset = record.offset, .timestamp_ms = record.timestamp_ms, .hash = HashKey(AsBytes(bytes), 0).high};
}

/// "0:41:1700000000000:9f3c...,1:...": partition, offset, timestamp (-1: none), hash.
std::string WriteRecordProofs(const RecordProofs& proofs) {
  std::string text;
  for (const auto& [partition, proof] : proofs) {
    text += fmt::format("{}{}:{}:{}:{:x}", text.empty() ? "" : ",", partition, proof.offset,
                        proof.timestamp_ms.value_or(-1), proof.hash);
  }
  return text;
}

Result<RecordProofs> ParseRecordProofs(const std::string& text) {
  RecordProofs proofs;
  for (std::string_view rest = text; !rest.empty();) {
    int32_t partition = 0;
    RecordProof proof;
    int64_t timestamp_ms = 0;
    if (!TakeNumber(rest, ':', 10, partition) || !TakeNumber(rest, ':', 10, proof.offset) ||
        !TakeNumber(rest, ':', 10, timestamp_ms) || !TakeNumber(rest, ',', 16, proof.hash)) {
      return Fail(ErrorCode::kInvalidTable, "marker: not last records: '{}'", text);
    }
    if (timestamp_ms >= 0) proof.timestamp_ms = timestamp_ms;
    proofs[partition] = proof;
  }
  return proofs;
}

Status CheckRecordProofs(RecordSource& source, const RecordProofs& proofs) {
  FRAZIL_ASSIGN(const auto bounds, source.Bounds());
  SourcePositions positions;
  std::set<int32_t> pending;
  for (const auto& [partition, proof] : proofs) {
    const auto found = bounds.find(partition);
    const bool is_there =
        found != bounds.end() && found->second.log_start <= proof.offset && proof.offset < found->second.end;
    if (!is_there) continue;
    positions[partition] = {.next = proof.offset, .leader_epoch = std::nullopt};
    pending.insert(partition);
  }
  if (pending.empty()) return {};
  FRAZIL_TRY(source.Assign(positions));
  for (int empty_polls = 0; !pending.empty() && empty_polls < kMaxEmptyPolls;) {
    FRAZIL_ASSIGN(const auto records, source.Poll(kPollRecords, kPollTimeout));
    if (records.empty()) ++empty_polls;
    for (const SourceRecord& record : records) {
      if (pending.erase(record.partition) == 0) continue;
      const RecordProof& proof = proofs.at(record.partition);
      if (record.offset != proof.offset || ProofOf(record) == proof) continue;
      return tl::unexpected(
          Error(ErrorCode::kFenced,
                fmt::format("record {} of partition {} of {} is not the one that is in the table: its key or timestamp "
                            "is another",
                            record.offset, record.partition, source.description()))
              .WithHint(
                  "the topic was made anew: frazil pipeline reset-offsets PIPELINE --to earliest reads it from its "
                  "beginning"));
    }
    for (const auto& [partition, position] : source.Positions()) {
      const auto proof = proofs.find(partition);
      if (proof != proofs.end() && position.next > proof->second.offset) pending.erase(partition);
    }
  }
  if (pending.empty()) return {};
  return Fail(ErrorCode::kUnavailable,
              "{} does not give record {} of partition {}, which says whether it is the same topic",
              source.description(), proofs.at(*pending.begin()).offset, *pending.begin());
}

}  // namespace frazil::ingest
