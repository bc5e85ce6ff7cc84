// From records to changes of keys: decoding Confluent Avro and JSON of the user_kv shape (app_id, user_id, key, value) into
// columns, hashing of keys, collapse of a batch.
//
// Beside the decoders, in the same run, what bounds them: passing over the values by their schema, and hard-coded reading of
// numbers and views without a check. Counters are of thread CPU; times are per batch of FRAZIL_BENCH_ROWS (300000) records.

#include <time.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_encoder.h"
#include "frazil/ingest/avro_record_decoder.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/ingest/json_record_decoder.h"

namespace frazil::ingest {
namespace {

constexpr const char* kSchema = R"({"type": "record", "name": "user_kv", "fields": [
  {"name": "app_id", "type": "long"}, {"name": "user_id", "type": "long"},
  {"name": "key", "type": "string"}, {"name": "value", "type": "string"}]})";
constexpr int32_t kSchemaId = 7;

size_t NumRows() {
  const char* text = std::getenv("FRAZIL_BENCH_ROWS");
  return text == nullptr ? 300'000 : static_cast<size_t>(std::atoll(text));
}

template <typename T>
T Must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().ToString());
    std::exit(1);
  }
  return *std::move(result);
}

class OneSchema final : public SchemaRegistry {
 public:
  Result<std::shared_ptr<const RegisteredSchema>> ById(int32_t id) override {
    auto schema = std::make_shared<RegisteredSchema>();
    schema->id = id;
    schema->text = kSchema;
    return schema;
  }
  Result<std::shared_ptr<const RegisteredSchema>> BySubject(const std::string&, int) override {
    return ById(kSchemaId);
  }
  Result<std::shared_ptr<const RegisteredSchema>> Latest(const std::string&) override { return ById(kSchemaId); }
  Result<int32_t> Register(const std::string&, const RegisteredSchema&) override { return kSchemaId; }
};

spec::SchemaPtr TableSchema() {
  const auto column = [](int id, std::string name, spec::TypeId type, bool required) {
    return spec::Field{
        .id = spec::FieldId(id), .name = std::move(name), .required = required, .type = spec::Type::Primitive(type)};
  };
  return Must(spec::Schema::Make(
      spec::SchemaId{0},
      {column(1, "app_id", spec::TypeId::kLong, true), column(2, "user_id", spec::TypeId::kLong, true),
       column(3, "key", spec::TypeId::kString, true), column(4, "value", spec::TypeId::kString, false)},
      {spec::FieldId{1}, spec::FieldId{2}, spec::FieldId{3}}));
}

struct Row {
  int64_t app_id = 0;
  int64_t user_id = 0;
  std::string key;
  std::string value;
};

/// Half of the rows of a batch are changes of keys that it has already when `is_skewed`.
std::vector<Row> Rows(bool is_skewed) {
  std::mt19937_64 random(99);
  const size_t count = NumRows();
  std::vector<Row> rows(count);
  for (Row& row : rows) {
    const uint64_t key = is_skewed ? random() % (random() % count + 1) : random();
    std::mt19937_64 of_key(key);
    row.app_id = static_cast<int64_t>(of_key() % 1000);
    row.user_id = static_cast<int64_t>(of_key() & 0x7fffffff);
    row.key = fmt::format("setting_{:03}", of_key() % 200);
    row.value.resize(40 + random() % 40);
    for (char& c : row.value) c = static_cast<char>('a' + random() % 26);
  }
  return rows;
}

/// Messages in one piece of memory, as a client library hands them out.
struct Messages {
  std::string bytes;
  std::vector<std::string_view> values;
};

template <typename Encode>
Messages MakeMessages(Encode encode) {
  Messages messages;
  std::vector<size_t> ends;
  for (const Row& row : Rows(false)) {
    messages.bytes += encode(row);
    ends.push_back(messages.bytes.size());
  }
  size_t begin = 0;
  for (const size_t end : ends) {
    messages.values.emplace_back(messages.bytes.data() + begin, end - begin);
    begin = end;
  }
  return messages;
}

const Messages& AvroMessages() {
  static const Messages messages = MakeMessages([](const Row& row) {
    Bytes bytes = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{kSchemaId}};
    format::AvroEncoder encoder(bytes);
    encoder.Long(row.app_id);
    encoder.Long(row.user_id);
    encoder.String(row.key);
    encoder.String(row.value);
    return std::string(AsText(bytes));
  });
  return messages;
}

const Messages& JsonMessages() {
  static const Messages messages = MakeMessages([](const Row& row) {
    return fmt::format(R"({{"app_id":{},"user_id":{},"key":"{}","value":"{}"}})", row.app_id, row.user_id, row.key,
                       row.value);
  });
  return messages;
}

/// CPU of the calling thread, in nanoseconds: on a busy machine wall time says nothing.
double ThreadNanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Counts rows and CPU from its making on.
class RowCounter {
 public:
  explicit RowCounter(benchmark::State& state) : state_(state), begin_(ThreadNanos()) {}
  void Finish(size_t rows_each) {
    const double nanos = ThreadNanos() - begin_;
    const double rows = static_cast<double>(state_.iterations()) * static_cast<double>(rows_each);
    state_.counters["ns/row"] = nanos / rows;
    state_.counters["rows/cpu_s"] = rows / nanos * 1e9;
  }

 private:
  benchmark::State& state_;
  double begin_;
};

void SkipOnly(benchmark::State& state) {
  const Messages& messages = AvroMessages();
  const format::AvroNodePtr schema = Must(format::ParseAvroSchema(kSchema));
  RowCounter counter(state);
  for (auto _ : state) {
    bool is_ok = true;
    for (const std::string_view value : messages.values) {
      format::AvroDecoder decoder(AsBytes(value).subspan(5));
      decoder.Skip(*schema);
      is_ok = is_ok && decoder.ok();
    }
    benchmark::DoNotOptimize(is_ok);
  }
  counter.Finish(messages.values.size());
}
BENCHMARK(SkipOnly)->Unit(benchmark::kMillisecond);

int64_t UncheckedLong(const char*& at) {
  uint64_t zigzag = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    zigzag |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return static_cast<int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
  }
}

std::string_view UncheckedView(const char*& at) {
  const auto size = static_cast<size_t>(UncheckedLong(at));
  const std::string_view view(at, size);
  at += size;
  return view;
}

void ViewsOnly(benchmark::State& state) {
  const Messages& messages = AvroMessages();
  const size_t count = messages.values.size();
  std::vector<int64_t> app_ids(count), user_ids(count);
  std::vector<std::string_view> keys(count), values(count);
  RowCounter counter(state);
  for (auto _ : state) {
    for (size_t i = 0; i < count; ++i) {
      const char* at = messages.values[i].data() + 5;
      app_ids[i] = UncheckedLong(at);
      user_ids[i] = UncheckedLong(at);
      keys[i] = UncheckedView(at);
      values[i] = UncheckedView(at);
    }
    benchmark::ClobberMemory();
  }
  counter.Finish(count);
}
BENCHMARK(ViewsOnly)->Unit(benchmark::kMillisecond);

void DecodeAll(benchmark::State& state, RecordDecoder& decoder, const Messages& messages) {
  SourceRecord record;
  RowCounter counter(state);
  for (auto _ : state) {
    for (const std::string_view value : messages.values) {
      record.value = value;
      ++record.offset;
      if (Must(decoder.Decode(record)) != Decoded::kRow) {
        state.SkipWithError(decoder.why().c_str());
        return;
      }
    }
    benchmark::DoNotOptimize(Must(decoder.Finish()));
  }
  counter.Finish(messages.values.size());
}

void AvroToColumns(benchmark::State& state) {
  const auto decoder = Must(MakeAvroRecordDecoder(TableSchema(), {}, std::make_shared<OneSchema>()));
  DecodeAll(state, *decoder, AvroMessages());
}
BENCHMARK(AvroToColumns)->Unit(benchmark::kMillisecond);

void JsonToColumns(benchmark::State& state) {
  RecordColumns columns;
  columns.value_format = RecordFormat::kJson;
  const auto decoder = Must(MakeJsonRecordDecoder(TableSchema(), columns, nullptr));
  DecodeAll(state, *decoder, JsonMessages());
}
BENCHMARK(JsonToColumns)->Unit(benchmark::kMillisecond);

std::vector<std::shared_ptr<arrow::Array>> KeyColumns(bool is_skewed) {
  arrow::Int64Builder app_ids, user_ids;
  arrow::StringBuilder keys;
  for (const Row& row : Rows(is_skewed)) {
    (void)app_ids.Append(row.app_id);
    (void)user_ids.Append(row.user_id);
    (void)keys.Append(row.key);
  }
  return {app_ids.Finish().ValueOrDie(), user_ids.Finish().ValueOrDie(), keys.Finish().ValueOrDie()};
}

void HashKeys(benchmark::State& state) {
  const auto columns = KeyColumns(false);
  const auto key = Must(index::CanonicalKey::Make(*TableSchema(), 42));
  RowCounter counter(state);
  for (auto _ : state) benchmark::DoNotOptimize(Must(key.HashRows(columns)));
  counter.Finish(static_cast<size_t>(columns[0]->length()));
}
BENCHMARK(HashKeys)->Unit(benchmark::kMillisecond);

void CollapseBatch(benchmark::State& state) {
  const auto key = Must(index::CanonicalKey::Make(*TableSchema(), 42));
  const std::vector<Hash96> hashes = Must(key.HashRows(KeyColumns(state.range(0) != 0)));
  const std::vector<ChangeKind> kinds(hashes.size(), ChangeKind::kUpsert);
  size_t keys = 0;
  RowCounter counter(state);
  for (auto _ : state) {
    const std::vector<KeyChange> changes = CollapseRows(hashes, kinds);
    keys = changes.size();
    benchmark::DoNotOptimize(changes.data());
  }
  counter.Finish(hashes.size());
  state.counters["keys/row"] = static_cast<double>(keys) / static_cast<double>(hashes.size());
}
BENCHMARK(CollapseBatch)->ArgName("skewed")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace frazil::ingest
