#include "frazil/ingest/avro_column_filler.h"

#include <map>
#include <optional>

namespace frazil::ingest {
namespace {

constexpr size_t kFrameBytes = 5;

class AvroFiller final : public ColumnFiller {
 public:
  AvroFiller(std::shared_ptr<AvroSchemaCache> schemas, spec::SchemaId table_schema_id,
             std::vector<ColumnBinding> bindings, AvroGrowth growth)
      : schemas_(std::move(schemas)),
        table_schema_id_(table_schema_id),
        bindings_(std::move(bindings)),
        growth_(std::move(growth)) {}

  Result<Filled> Fill(std::string_view text, int64_t row) override {
    const ByteView bytes = AsBytes(text);
    if (bytes.size() < kFrameBytes || bytes[0] != std::byte{0}) return WrongFrame(bytes);
    const auto id = LoadBig<int32_t>(bytes.data() + 1);
    if (last_ == nullptr || id != last_id_) FRAZIL_TRY(Switch(id));
    if (last_->refused) return tl::unexpected(*last_->refused);
    if (last_->needs_schema) return Filled::kNeedsSchema;
    if (Status status = last_->plan->Run(bytes.subspan(kFrameBytes), row); !status) {
      return tl::unexpected(std::move(status).error());
    }
    return last_->has_every_field ? Filled::kAll : Filled::kDone;
  }

  int32_t last_schema_id() const override { return last_id_; }

  Result<std::vector<ColumnChange>> Changes(int32_t writer_id, const spec::Schema& schema,
                                            const std::vector<ColumnBinding>& bindings) override {
    FRAZIL_ASSIGN(const format::AvroNodePtr writer, schemas_->ById(writer_id));
    auto compiled = CompileAvroPlan(writer, bindings, growth_);
    if (!compiled) return tl::unexpected(Incompatible(std::move(compiled).error(), writer_id, schema.id()));
    return std::move(compiled->changes);
  }

  std::vector<int32_t> schema_ids() const override {
    std::vector<int32_t> ids;
    for (const auto& [id, plan] : plans_) ids.push_back(id);
    return ids;
  }

 private:
  /// What became of one writer's schema.
  struct Known {
    std::unique_ptr<AvroPlan> plan;
    bool has_every_field = false;
    bool needs_schema = false;
    std::optional<Error> refused;
  };

  static tl::unexpected<Error> WrongFrame(ByteView bytes) {
    if (bytes.size() < kFrameBytes) {
      return Fail(ErrorCode::kCorruptData, "too short for a schema id and Avro: {} bytes", bytes.size());
    }
    return Fail(ErrorCode::kCorruptData, "not framed for a schema registry: the first byte is {} instead of 0",
                std::to_integer<unsigned>(bytes[0]));
  }

  static Error Incompatible(Error error, int32_t id, spec::SchemaId table_schema_id) {
    return std::move(error).WithContext(
        fmt::format("schema {} of the registry does not fit schema {} of the table", id, table_schema_id));
  }

  Status Switch(int32_t id) {
    auto known = plans_.find(id);
    if (known == plans_.end()) {
      FRAZIL_ASSIGN(Known made, Compile(id));
      known = plans_.emplace(id, std::move(made)).first;
    }
    last_ = &known->second;
    last_id_ = id;
    return {};
  }

  Result<Known> Compile(int32_t id) {
    Known known;
    auto writer = schemas_->ById(id);
    if (!writer) {
      // The registry's errors are no property of the schema; those of its text are.
      const ErrorCode code = writer.error().code();
      if (code == ErrorCode::kInvalidArgument) {
        // An answer that is none says nothing about the record: wait for a better one.
        return Fail(ErrorCode::kUnavailable, "{}", writer.error().ToString());
      }
      if (code != ErrorCode::kCorruptData && code != ErrorCode::kNotSupported) {
        return tl::unexpected(std::move(writer).error());
      }
      known.refused = std::move(writer).error();
      return known;
    }
    auto compiled = CompileAvroPlan(*writer, bindings_, growth_);
    if (!compiled) {
      known.refused = Incompatible(std::move(compiled).error(), id, table_schema_id_);
      return known;
    }
    known.plan = std::move(compiled->plan);
    known.has_every_field = compiled->has_every_field;
    known.needs_schema = !compiled->changes.empty();
    return known;
  }

  std::shared_ptr<AvroSchemaCache> schemas_;
  spec::SchemaId table_schema_id_;
  std::vector<ColumnBinding> bindings_;
  AvroGrowth growth_;
  std::map<int32_t, Known> plans_;
  Known* last_ = nullptr;
  int32_t last_id_ = 0;
};

}  // namespace

std::unique_ptr<ColumnFiller> MakeAvroFiller(std::shared_ptr<AvroSchemaCache> schemas, spec::SchemaId table_schema_id,
                                             std::vector<ColumnBinding> bindings, AvroGrowth growth) {
  return std::make_unique<AvroFiller>(std::move(schemas), table_schema_id, std::move(bindings), std::move(growth));
}

}  // namespace frazil::ingest
