#include "frazil/write/sort_key.h"

#include <algorithm>
#include <bit>

#include <arrow/api.h>

#include "frazil/format/parquet_value.h"
#include "frazil/write/column_path.h"

namespace frazil::write {
namespace {

constexpr auto kZero = std::byte{0};

void AppendOrdered(int64_t value, Bytes& out) { AppendBig(out, static_cast<uint64_t>(value) ^ (uint64_t{1} << 63)); }

/// Ends where the text ends, and no key is the start of another: 0 is 0 255, the end is 0 0.
void AppendOrdered(ByteView text, Bytes& out) {
  for (const std::byte byte : text) {
    out.push_back(byte);
    if (byte == kZero) out.push_back(std::byte{0xFF});
  }
  out.push_back(kZero);
  out.push_back(kZero);
}

template <typename Float, typename Bits>
void AppendFloat(Float value, Bytes& out) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto bits = std::bit_cast<Bits>(value);
  AppendBig(out, static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign));
}

void AppendOrdered(const spec::Value& value, Bytes& out) {
  if (const auto* as_bool = std::get_if<bool>(&value)) return out.push_back(std::byte{*as_bool});
  if (const auto* as_int = std::get_if<int32_t>(&value)) return AppendOrdered(int64_t{*as_int}, out);
  if (const auto* as_long = std::get_if<int64_t>(&value)) return AppendOrdered(*as_long, out);
  if (const auto* as_float = std::get_if<float>(&value)) return AppendFloat<float, uint32_t>(*as_float, out);
  if (const auto* as_double = std::get_if<double>(&value)) return AppendFloat<double, uint64_t>(*as_double, out);
  if (const auto* text = std::get_if<std::string>(&value)) return AppendOrdered(AsBytes(*text), out);
  if (const auto* bytes = std::get_if<Bytes>(&value)) return AppendOrdered(ByteView(*bytes), out);
  if (const auto* decimal = std::get_if<spec::Decimal>(&value)) {
    AppendOrdered(static_cast<int64_t>(decimal->unscaled >> 64), out);
    AppendBig(out, static_cast<uint64_t>(decimal->unscaled));
    return;
  }
  if (const auto* uuid = std::get_if<Uuid>(&value)) return AppendBytes(out, uuid->bytes());
}

}  // namespace

Result<SortKey> SortKey::Make(const spec::SortOrder& order, const spec::Schema& schema) {
  SortKey key;
  for (const spec::SortField& sort : order.fields) {
    if (sort.transform.kind() == spec::Transform::Kind::kUnknown) {
      return Fail(ErrorCode::kNotSupported, "sorting by the transform {}", sort.transform.ToString());
    }
    const std::vector<const spec::Field*> path = schema.PathTo(sort.source_id);
    if (path.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "a sort order needs a column that the table lacks: id {}",
                  sort.source_id);
    }
    key.fields_.push_back({sort, path.back()->type, ColumnPath(schema, path)});
  }
  return key;
}

Status SortKey::AppendTo(const arrow::RecordBatch& rows, std::vector<Bytes>& keys) const {
  for (const Field& field : fields_) {
    if (field.source_type.id() == spec::TypeId::kUnknown) continue;  // all null
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::Array> column, ColumnAt(rows, field.path));
    const bool is_plain = field.sort.transform.kind() == spec::Transform::Kind::kIdentity;
    const bool nulls_are_first = field.sort.null_order == spec::NullOrder::kFirst;
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      Bytes& key = keys[static_cast<size_t>(row)];
      spec::Value value;
      const bool is_null_source = column->IsNull(row);
      const bool is_fast =
          is_plain && (column->type_id() == arrow::Type::INT64 || column->type_id() == arrow::Type::STRING);
      if (!is_null_source && !is_fast) {
        FRAZIL_ASSIGN(value, format::ValueAt(*column, field.source_type, row));
        if (!is_plain) {
          FRAZIL_ASSIGN(value, field.sort.transform.Apply(field.source_type, value));
        }
      }
      const bool is_null = is_null_source || (!is_fast && spec::IsNull(value));
      key.push_back(std::byte{is_null != nulls_are_first});
      if (is_null) continue;
      const size_t start = key.size();
      if (!is_fast) {
        AppendOrdered(value, key);
      } else if (column->type_id() == arrow::Type::INT64) {
        AppendOrdered(static_cast<const arrow::Int64Array&>(*column).Value(row), key);
      } else {
        AppendOrdered(AsBytes(static_cast<const arrow::StringArray&>(*column).GetView(row)), key);
      }
      if (field.sort.direction == spec::SortDirection::kDescending) {
        std::transform(key.begin() + static_cast<ptrdiff_t>(start), key.end(),
                       key.begin() + static_cast<ptrdiff_t>(start), [](std::byte byte) { return ~byte; });
      }
    }
  }
  return {};
}

}  // namespace frazil::write
