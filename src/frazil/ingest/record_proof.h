#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "frazil/base/result.h"
#include "frazil/ingest/record_source.h"

namespace frazil::ingest {

/// What tells one record from another that lies at its place in a topic that was made anew: for brokers that know no topic
/// ids (ingest.md rule 5, source check).
struct RecordProof {
  int64_t offset = 0;
  std::optional<int64_t> timestamp_ms = std::nullopt;
  uint64_t hash = 0;  ///< of the key, of the value where there is none
  bool operator==(const RecordProof&) const = default;
};
/// By partition: the newest record that is in the table.
using RecordProofs = std::map<int32_t, RecordProof>;

RecordProof ProofOf(const SourceRecord& record);

/// Where a marker keeps them among what it says of the source.
inline constexpr char kLastRecordsKey[] = "last-records";
std::string WriteRecordProofs(const RecordProofs& proofs);
/// kInvalidTable for a text that is none of ours.
Result<RecordProofs> ParseRecordProofs(const std::string& text);

/// Reads the records again, which takes a poll or two. kFenced naming the first that is another one. What retention or
/// compaction took proves nothing; kUnavailable where the source gives no answer. The source is left assigned to whatever this needed.
Status CheckRecordProofs(RecordSource& source, const RecordProofs& proofs);

}  // namespace frazil::ingest
