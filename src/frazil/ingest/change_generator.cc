#include "frazil/ingest/change_generator.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frazil/format/avro_encoder.h"

namespace frazil::ingest {
namespace {

/// SplitMix64: every bit of the result depends on every bit of the input.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Independent streams of randomness: what is decided by one never moves the others.
enum Stream : uint64_t { kAction = 1, kWhich, kTime, kPoisonOf, kApp, kUser, kWord, kValue, kValueMore, kIsNull };

uint64_t Random(uint64_t seed, Stream stream, int64_t number) {
  return Mix(Mix(seed ^ Mix(stream)) ^ static_cast<uint64_t>(number));
}

/// In [0, 1).
double Fraction(uint64_t random) { return static_cast<double>(random >> 11) * 0x1.0p-53; }

/// Zipf's law over 0 .. n-1 by the inverse of its continuous form: exact enough for load, and no table of n.
int64_t Zipf(double fraction, int64_t n, double exponent) {
  const double top = static_cast<double>(n);
  double rank = 0;
  if (exponent == 0) {
    rank = fraction * top;
  } else if (std::abs(exponent - 1) < 1e-9) {
    rank = std::exp(fraction * std::log(top + 1)) - 1;
  } else {
    const double power = 1 - exponent;
    rank = std::pow((std::pow(top + 1, power) - 1) * fraction + 1, 1 / power) - 1;
  }
  return std::min(n - 1, static_cast<int64_t>(rank));
}

void AppendHex(std::string& out, uint64_t number, int digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int i = digits - 1; i >= 0; --i) out += kDigits[(number >> (4 * i)) & 15];
}

void AppendNumber(std::string& out, int64_t number) {
  char text[24];
  out.append(text, fmt::format_to(text, "{}", number));
}

void AppendFrame(int32_t schema_id, Bytes& out) {
  out.push_back(std::byte{0});
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::byte>(static_cast<uint32_t>(schema_id) >> shift));
  }
}

void AppendField(std::string& out, std::string_view name, int64_t number) {
  out.append("\"").append(name).append("\": ");
  AppendNumber(out, number);
}

/// Keys and values are ASCII without quotes.
void AppendField(std::string& out, std::string_view name, const std::optional<std::string>& text) {
  out.append("\"").append(name).append("\": ");
  text ? out.append("\"").append(*text).append("\"") : out.append("null");
}

void AppendKeyFields(const GeneratedRow& row, std::string& out) {
  AppendField(out, "app_id", row.app_id);
  out += ", ";
  AppendField(out, "user_id", row.user_id);
  out += ", ";
  AppendField(out, "key", row.key);
}

constexpr auto kWords = std::to_array<std::string_view>({"theme", "locale", "email", "consent", "plan", "badge",
                                                         "draft", "cursor", "layout", "timezone", "limit", "avatar"});
constexpr int64_t kMaxUsers = INT32_MAX;  // the first schema has user_id as int
constexpr int64_t kLateMs = 10'000;

Status CheckShare(const char* name, double share) {
  if (share >= 0 && share <= 1) return {};
  return Fail(ErrorCode::kInvalidArgument, "{} has to lie between 0 and 1: {}", name, share);
}

}  // namespace

Result<ChangeGenerator> ChangeGenerator::Make(const ChangeGeneratorOptions& options) {
  FRAZIL_TRY(CheckShare("inserts", options.inserts));
  FRAZIL_TRY(CheckShare("deletes", options.deletes));
  FRAZIL_TRY(CheckShare("inserts and deletes together", options.inserts + options.deletes));
  FRAZIL_TRY(CheckShare("nulls", options.nulls));
  FRAZIL_TRY(CheckShare("duplicates", options.duplicates));
  FRAZIL_TRY(CheckShare("late", options.late));
  FRAZIL_TRY(CheckShare("poison", options.poison));
  FRAZIL_TRY(CheckShare("duplicates and poison together", options.duplicates + options.poison));
  if (options.records < 0 || options.initial_keys < 1 || options.apps < 1 || options.users < 1 ||
      options.users > kMaxUsers) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "records may not be negative, and initial keys, apps and users have to be at least 1 (users at most {})",
        kMaxUsers);
  }
  if (!(options.skew >= 0 && options.skew <= 4)) {
    return Fail(ErrorCode::kInvalidArgument, "skew has to lie between 0 and 4: {}", options.skew);
  }
  return ChangeGenerator(options);
}

int64_t ChangeGenerator::OldKey(uint64_t random) const {
  // Hot keys are spread over the numbers, else they would all be the oldest ones.
  const auto count = static_cast<int64_t>(versions_.size());
  const int64_t rank = Zipf(Fraction(random), count, options_.skew);
  return static_cast<int64_t>(Mix(static_cast<uint64_t>(rank) ^ options_.seed) % static_cast<uint64_t>(count));
}

GeneratedChange ChangeGenerator::Choose(int64_t record) {
  double action = Fraction(Random(options_.seed, kAction, record));
  const bool has_keys = !versions_.empty();
  if (has_keys && action < options_.duplicates) return last_;
  const uint64_t which = Random(options_.seed, kWhich, record);
  GeneratedChange change;
  change.version = record;
  change.is_evolved = options_.evolve_at >= 0 && record >= options_.evolve_at;
  if (has_keys && action < options_.duplicates + options_.poison) {
    change.kind = GeneratedKind::kPoison;
    change.key = OldKey(which);
    return change;
  }
  action = (action - options_.duplicates - options_.poison) / (1 - options_.duplicates - options_.poison);
  if (static_cast<int64_t>(versions_.size()) < options_.initial_keys || action < options_.inserts) {
    change.key = static_cast<int64_t>(versions_.size());
    versions_.push_back(record);
    return change;
  }
  change.key = OldKey(which);
  if (action < options_.inserts + options_.deletes) change.kind = GeneratedKind::kDelete;
  versions_[static_cast<size_t>(change.key)] = change.kind == GeneratedKind::kDelete ? -1 : record;
  return change;
}

std::optional<GeneratedChange> ChangeGenerator::Next() {
  if (next_record_ == options_.records) return std::nullopt;
  const int64_t record = next_record_++;
  GeneratedChange change = Choose(record);
  change.timestamp_ms = options_.first_timestamp_ms + record;
  if (const uint64_t time = Random(options_.seed, kTime, record); Fraction(time) < options_.late) {
    change.timestamp_ms -= static_cast<int64_t>(Mix(time) % kLateMs);
  }
  if (change.kind != GeneratedKind::kPoison) last_ = change;
  return change;
}

void ChangeGenerator::Fill(const GeneratedChange& change, GeneratedRow& row) const {
  Fill(change.key, change.version, row);
}

void ChangeGenerator::Fill(int64_t key, int64_t version, GeneratedRow& row) const {
  const uint64_t seed = options_.seed;
  row.app_id = 1 + Zipf(Fraction(Random(seed, kApp, key)), options_.apps, options_.skew);
  row.user_id = 1 + static_cast<int64_t>(Random(seed, kUser, key) % static_cast<uint64_t>(options_.users));
  row.key.assign(kWords[Random(seed, kWord, key) % kWords.size()]);
  row.key += '.';
  AppendNumber(row.key, key);  // so that no two keys are the same
  const int64_t of_both = static_cast<int64_t>(Mix(static_cast<uint64_t>(key)) ^ static_cast<uint64_t>(version));
  if (Fraction(Random(seed, kIsNull, of_both)) < options_.nulls) {
    row.value.reset();
  } else {
    if (!row.value) row.value.emplace();
    row.value->clear();
    AppendHex(*row.value, Random(seed, kValue, of_both), 16);
    AppendHex(*row.value, Random(seed, kValueMore, of_both), 16);
  }
  row.revision.reset();
  if (options_.evolve_at >= 0 && version >= options_.evolve_at) row.revision = version;
}

std::string GeneratedKeySchema() {
  return R"({"type":"record","name":"UserKvKey","namespace":"apps","fields":[)"
         R"({"name":"insight_id","type":"long"},{"name":"user_id","type":"long"},{"name":"key","type":"string"}]})";
}

std::string GeneratedValueSchema(bool is_evolved) {
  return fmt::format(
      R"({{"type":"record","name":"UserKv","namespace":"apps","fields":[{{"name":"insight_id","type":"long"}},)"
      R"({{"name":"user_id","type":"{}"}},{{"name":"key","type":"string"}},)"
      R"({{"name":"value","type":["null","string"],"default":null}}{}]}})",
      is_evolved ? "long" : "int", is_evolved ? R"(,{"name":"revision","type":["null","long"],"default":null})" : "");
}

void AppendAvroKey(const GeneratedRow& row, int32_t schema_id, Bytes& out) {
  AppendFrame(schema_id, out);
  format::AvroEncoder encoder(out);
  encoder.Long(row.app_id);
  encoder.Long(row.user_id);
  encoder.String(row.key);
}

void AppendAvroValue(const GeneratedRow& row, bool is_evolved, int32_t schema_id, Bytes& out) {
  AppendFrame(schema_id, out);
  format::AvroEncoder encoder(out);
  encoder.Long(row.app_id);
  encoder.Long(row.user_id);  // int and long are written alike
  encoder.String(row.key);
  if (row.value) {
    encoder.Present();
    encoder.String(*row.value);
  } else {
    encoder.Null();
  }
  if (!is_evolved) return;
  if (row.revision) {
    encoder.Present();
    encoder.Long(*row.revision);
  } else {
    encoder.Null();
  }
}

void AppendPoisonValue(const GeneratedChange& change, const GeneratedRow& row, int32_t schema_id, Bytes& out) {
  const size_t begin = out.size();
  switch (Random(0, kPoisonOf, change.version) % 3) {
    case 0: AppendBytes(out, AsBytes("this is no Avro")); break;
    case 1: AppendAvroValue(row, change.is_evolved, INT32_MAX, out); break;  // a schema that nobody registered
    default:
      AppendAvroValue(row, change.is_evolved, schema_id, out);
      out.resize(begin + (out.size() - begin) / 2);  // cut off
  }
}

void AppendJsonLine(const GeneratedChange& change, const GeneratedRow& row, std::string& out) {
  if (change.kind == GeneratedKind::kPoison) {
    out += "{\"key\": {\"app_id\": this is no JSON\n";
    return;
  }
  out += "{\"key\": {";
  AppendKeyFields(row, out);
  out += "}, \"value\": ";
  if (change.kind == GeneratedKind::kDelete) {
    out += "null}\n";
    return;
  }
  AppendJsonRow(row, out);
  out.back() = '}';
  out += '\n';
}

void AppendJsonRow(const GeneratedRow& row, std::string& out) {
  out += '{';
  AppendKeyFields(row, out);
  out += ", ";
  AppendField(out, "value", row.value);
  if (row.revision) {
    out += ", ";
    AppendField(out, "revision", *row.revision);
  }
  out += "}\n";
}

}  // namespace frazil::ingest
