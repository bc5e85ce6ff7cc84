#include "frazil/ingest/column_filler.h"
#include "frazil/ingest/column_text.h"

namespace frazil::ingest {
namespace {

using spec::TypeId;

class RawFiller final : public ColumnFiller {
 public:
  explicit RawFiller(std::vector<ColumnBinding> bindings) : bindings_(std::move(bindings)) {}

  Result<Filled> Fill(std::string_view bytes, int64_t row) override {
    for (const ColumnBinding& binding : bindings_) {
      if (binding.only_if_missing && binding.column->length() > row) continue;
      FRAZIL_TRY(Append(AsBytes(bytes), *binding.column));
    }
    return Filled::kDone;
  }

 private:
  static Status Append(ByteView bytes, ColumnBuffer& column) {
    const spec::Field& field = column.field();
    const auto must_be = [&](size_t size) -> Status {
      if (bytes.size() == size) return {};
      return Fail(ErrorCode::kInvalidArgument, "raw key of {} bytes for column '{}' of type {}", bytes.size(),
                  field.name, field.type.ToString());
    };
    switch (field.type.id()) {
      case TypeId::kInt:
        FRAZIL_TRY(must_be(4));
        column.Append(LoadBig<int32_t>(bytes.data()));
        return {};
      case TypeId::kLong:
        FRAZIL_TRY(must_be(8));
        column.Append(LoadBig<int64_t>(bytes.data()));
        return {};
      case TypeId::kUuid:
        FRAZIL_TRY(must_be(16));
        column.AppendFixed(bytes.data());
        return {};
      case TypeId::kFixed:
        FRAZIL_TRY(must_be(static_cast<size_t>(field.type.length())));
        column.AppendFixed(bytes.data());
        return {};
      case TypeId::kString:
        if (!IsUtf8(bytes)) return Fail(ErrorCode::kInvalidArgument, "raw key of column '{}' is not UTF-8", field.name);
        column.AppendBytes(bytes);
        return {};
      default: column.AppendBytes(bytes); return {};
    }
  }

  std::vector<ColumnBinding> bindings_;
};

}  // namespace

Result<std::unique_ptr<ColumnFiller>> MakeRawFiller(std::vector<ColumnBinding> bindings) {
  std::erase_if(bindings, [](const ColumnBinding& binding) { return !binding.path.empty(); });
  for (const ColumnBinding& binding : bindings) {
    switch (binding.field->type.id()) {
      case TypeId::kInt:
      case TypeId::kLong:
      case TypeId::kUuid:
      case TypeId::kFixed:
      case TypeId::kString:
      case TypeId::kBinary: break;
      default:
        return Fail(ErrorCode::kInvalidArgument, "a raw key cannot fill column '{}' of type {}", binding.field->name,
                    binding.field->type.ToString());
    }
  }
  return std::make_unique<RawFiller>(std::move(bindings));
}

}  // namespace frazil::ingest
