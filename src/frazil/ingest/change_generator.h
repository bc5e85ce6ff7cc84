#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::ingest {

struct ChangeGeneratorOptions {
  uint64_t seed = 1;
  int64_t records = 1'000'000;
  /// So many inserts come first; then inserts, updates and deletes are mixed.
  int64_t initial_keys = 100'000;
  int64_t apps = 1'000;
  int64_t users = 1'000'000;
  /// Exponent of Zipf's law: how unevenly keys fall to apps and updates to keys. 0: evenly.
  double skew = 1.0;
  double inserts = 0.19;
  double deletes = 0.01;
  double nulls = 0.02;     ///< of values
  double duplicates = 0;   ///< of records: the one before comes again, as a producer that retries sends it
  double late = 0.01;      ///< of timestamps: up to 10 s earlier than the ones around
  double poison = 0;       ///< of records: nothing can be made of them
  int64_t evolve_at = -1;  ///< from this record on the value has the second schema; -1: never
  int64_t first_timestamp_ms = 1'700'000'000'000;  ///< a millisecond a record
};

enum class GeneratedKind : uint8_t { kUpsert, kDelete, kPoison };

struct GeneratedChange {
  GeneratedKind kind = GeneratedKind::kUpsert;
  int64_t key = 0;      ///< number of the key, from 0 in the order of the inserts
  int64_t version = 0;  ///< number of the record that made this version
  int64_t timestamp_ms = 0;
  bool is_evolved = false;
};

/// What a key and a version come to: a function of them and the seed, so that a table can be verified without a copy.
struct GeneratedRow {
  int64_t app_id = 0;
  int64_t user_id = 0;
  std::string key;
  std::optional<std::string> value;
  std::optional<int64_t> revision;  ///< of the second schema: the version
};

/// Deterministic changes of a table (app_id, user_id, key, value), the same for the same options on every machine.
/// Memory: 8 bytes a key. One thread.
class ChangeGenerator {
 public:
  /// kInvalidArgument naming the option.
  static Result<ChangeGenerator> Make(const ChangeGeneratorOptions& options);

  /// The next record; none after the last.
  std::optional<GeneratedChange> Next();
  /// Of an upsert; of a delete only its key fields mean something. Keeps its capacity from call to call.
  void Fill(const GeneratedChange& change, GeneratedRow& row) const;

  /// The version that each key has after the records so far; -1: deleted.
  const std::vector<int64_t>& versions() const { return versions_; }
  /// The row of a key at a version, with the schema it was written with.
  void Fill(int64_t key, int64_t version, GeneratedRow& row) const;

 private:
  explicit ChangeGenerator(const ChangeGeneratorOptions& options) : options_(options) {}
  GeneratedChange Choose(int64_t record);
  int64_t OldKey(uint64_t random) const;

  ChangeGeneratorOptions options_;
  int64_t next_record_ = 0;
  GeneratedChange last_;
  std::vector<int64_t> versions_;
};

// ---- forms of a change

/// Schemas of Avro keys and values. The second value schema widens user_id from int to long and adds an optional field.
std::string GeneratedKeySchema();
std::string GeneratedValueSchema(bool is_evolved);

/// Confluent framing: a zero byte, the schema's id, Avro.
void AppendAvroKey(const GeneratedRow& row, int32_t schema_id, Bytes& out);
void AppendAvroValue(const GeneratedRow& row, bool is_evolved, int32_t schema_id, Bytes& out);
/// Bytes that no reader of such values can take; `change` decides which.
void AppendPoisonValue(const GeneratedChange& change, const GeneratedRow& row, int32_t schema_id, Bytes& out);

/// A line of `frazil ingest --format json-kv`, newline included; of poison one that cannot be read.
void AppendJsonLine(const GeneratedChange& change, const GeneratedRow& row, std::string& out);
/// The row alone, newline included.
void AppendJsonRow(const GeneratedRow& row, std::string& out);

}  // namespace frazil::ingest
