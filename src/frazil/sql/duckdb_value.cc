#include "frazil/sql/duckdb_value.h"

#include <algorithm>

#include "duckdb/common/string_util.hpp"
#include "duckdb/common/types/hugeint.hpp"
#include "duckdb/common/types/uuid.hpp"

namespace frazil::sql {

namespace {

using duckdb::LogicalType;
using duckdb::Value;
using spec::TypeId;

duckdb::hugeint_t ToHugeint(spec::Int128 number) {
  duckdb::hugeint_t result;
  result.lower = static_cast<uint64_t>(number);
  result.upper = static_cast<int64_t>(number >> 64);
  return result;
}

spec::Int128 FromHugeint(duckdb::hugeint_t number) {
  return static_cast<spec::Int128>((static_cast<unsigned __int128>(static_cast<uint64_t>(number.upper)) << 64) |
                                   number.lower);
}

Value DecimalValue(const spec::Type& type, spec::Int128 unscaled) {
  auto width = static_cast<uint8_t>(type.precision());
  auto scale = static_cast<uint8_t>(type.scale());
  if (width <= 4) return Value::DECIMAL(static_cast<int16_t>(unscaled), width, scale);
  if (width <= 9) return Value::DECIMAL(static_cast<int32_t>(unscaled), width, scale);
  if (width <= 18) return Value::DECIMAL(static_cast<int64_t>(unscaled), width, scale);
  return Value::DECIMAL(ToHugeint(unscaled), width, scale);
}

LogicalType MustType(const spec::Type& type) {
  auto result = DuckTypeOf(type);
  return result ? *result : LogicalType(LogicalType::SQLNULL);
}

}  // namespace

Result<LogicalType> DuckTypeOf(const spec::Type& type) {
  switch (type.id()) {
    case TypeId::kUnknown: return LogicalType(LogicalType::SQLNULL);
    case TypeId::kBoolean: return LogicalType(LogicalType::BOOLEAN);
    case TypeId::kInt: return LogicalType(LogicalType::INTEGER);
    case TypeId::kLong: return LogicalType(LogicalType::BIGINT);
    case TypeId::kFloat: return LogicalType(LogicalType::FLOAT);
    case TypeId::kDouble: return LogicalType(LogicalType::DOUBLE);
    case TypeId::kDecimal:
      return LogicalType::DECIMAL(static_cast<uint8_t>(type.precision()), static_cast<uint8_t>(type.scale()));
    case TypeId::kDate: return LogicalType(LogicalType::DATE);
    case TypeId::kTime: return LogicalType(LogicalType::TIME);
    case TypeId::kTimestamp: return LogicalType(LogicalType::TIMESTAMP);
    case TypeId::kTimestampTz: return LogicalType(LogicalType::TIMESTAMP_TZ);
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return LogicalType(LogicalType::TIMESTAMP_NS);
    case TypeId::kString: return LogicalType(LogicalType::VARCHAR);
    case TypeId::kUuid: return LogicalType(LogicalType::UUID);
    case TypeId::kFixed:
    case TypeId::kBinary: return LogicalType(LogicalType::BLOB);
    case TypeId::kStruct: {
      duckdb::child_list_t<LogicalType> children;
      for (const spec::Field& field : type.fields()) {
        FRAZIL_ASSIGN(LogicalType child, DuckTypeOf(field.type));
        children.emplace_back(field.name, std::move(child));
      }
      return LogicalType::STRUCT(std::move(children));
    }
    case TypeId::kList: {
      FRAZIL_ASSIGN(LogicalType element, DuckTypeOf(type.element().type));
      return LogicalType::LIST(element);
    }
    case TypeId::kMap: {
      FRAZIL_ASSIGN(LogicalType key, DuckTypeOf(type.key().type));
      FRAZIL_ASSIGN(LogicalType value, DuckTypeOf(type.map_value().type));
      return LogicalType::MAP(key, value);
    }
    case TypeId::kVariant: return LogicalType::VARIANT();
    case TypeId::kGeometry:
    case TypeId::kGeography: break;
  }
  return Fail(ErrorCode::kNotSupported, "SQL cannot read columns of this type yet: {}", type.ToString());
}

Value ToDuckValue(const spec::Type& type, const spec::Value& value) {
  if (spec::IsNull(value)) return Value(MustType(type));
  switch (type.id()) {
    case TypeId::kBoolean: return Value::BOOLEAN(std::get<bool>(value));
    case TypeId::kInt: return Value::INTEGER(std::get<int32_t>(value));
    case TypeId::kLong: return Value::BIGINT(std::get<int64_t>(value));
    case TypeId::kFloat: return Value::FLOAT(std::get<float>(value));
    case TypeId::kDouble: return Value::DOUBLE(std::get<double>(value));
    case TypeId::kDecimal: return DecimalValue(type, std::get<spec::Decimal>(value).unscaled);
    case TypeId::kDate: return Value::DATE(duckdb::date_t(std::get<int32_t>(value)));
    case TypeId::kTime: return Value::TIME(duckdb::dtime_t(std::get<int64_t>(value)));
    case TypeId::kTimestamp: return Value::TIMESTAMP(duckdb::timestamp_t(std::get<int64_t>(value)));
    case TypeId::kTimestampTz: return Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(std::get<int64_t>(value)));
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: {
      duckdb::timestamp_ns_t nanos;
      nanos.value = std::get<int64_t>(value);
      return Value::TIMESTAMPNS(nanos);
    }
    case TypeId::kString: return Value(std::get<std::string>(value));
    case TypeId::kUuid: return Value::UUID(std::get<Uuid>(value).ToString());
    case TypeId::kFixed:
    case TypeId::kBinary: {
      const auto& bytes = std::get<Bytes>(value);
      return Value::BLOB(reinterpret_cast<duckdb::const_data_ptr_t>(bytes.data()), bytes.size());
    }
    default: return Value(MustType(type));
  }
}

Value ToDuckValue(const spec::Type& type, const Datum& datum) {
  if (datum.is_null) return Value(MustType(type));
  switch (type.id()) {
    case TypeId::kStruct: {
      duckdb::vector<Value> children;
      for (size_t i = 0; i < type.fields().size(); ++i) {
        children.push_back(ToDuckValue(type.fields()[i].type, datum.children[i]));
      }
      return Value::STRUCT(MustType(type), std::move(children));
    }
    case TypeId::kList: {
      duckdb::vector<Value> elements;
      for (const Datum& child : datum.children) elements.push_back(ToDuckValue(type.element().type, child));
      return Value::LIST(MustType(type.element().type), std::move(elements));
    }
    case TypeId::kMap: {
      duckdb::vector<Value> keys, values;
      for (size_t i = 0; i + 1 < datum.children.size(); i += 2) {
        keys.push_back(ToDuckValue(type.key().type, datum.children[i]));
        values.push_back(ToDuckValue(type.map_value().type, datum.children[i + 1]));
      }
      return Value::MAP(MustType(type.key().type), MustType(type.map_value().type), std::move(keys), std::move(values));
    }
    default: return ToDuckValue(type, datum.value);
  }
}

std::optional<spec::Value> FromDuckValue(const spec::Type& type, const Value& value) {
  auto expected = DuckTypeOf(type);
  if (value.IsNull() || !expected || value.type() != *expected) return std::nullopt;
  switch (type.id()) {
    case TypeId::kBoolean: return spec::Value(value.GetValue<bool>());
    case TypeId::kInt: return spec::Value(value.GetValue<int32_t>());
    case TypeId::kLong: return spec::Value(value.GetValue<int64_t>());
    case TypeId::kFloat: return spec::Value(value.GetValue<float>());
    case TypeId::kDouble: return spec::Value(value.GetValue<double>());
    case TypeId::kDecimal: {
      spec::Decimal decimal;
      switch (value.type().InternalType()) {
        case duckdb::PhysicalType::INT16: decimal.unscaled = value.GetValueUnsafe<int16_t>(); break;
        case duckdb::PhysicalType::INT32: decimal.unscaled = value.GetValueUnsafe<int32_t>(); break;
        case duckdb::PhysicalType::INT64: decimal.unscaled = value.GetValueUnsafe<int64_t>(); break;
        case duckdb::PhysicalType::INT128:
          decimal.unscaled = FromHugeint(value.GetValueUnsafe<duckdb::hugeint_t>());
          break;
        default: return std::nullopt;
      }
      return spec::Value(decimal);
    }
    case TypeId::kDate: return spec::Value(value.GetValueUnsafe<duckdb::date_t>().days);
    case TypeId::kTime: return spec::Value(value.GetValueUnsafe<duckdb::dtime_t>().micros);
    case TypeId::kTimestamp: return spec::Value(value.GetValueUnsafe<duckdb::timestamp_t>().value);
    case TypeId::kTimestampTz: return spec::Value(value.GetValueUnsafe<duckdb::timestamp_tz_t>().value);
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return spec::Value(value.GetValueUnsafe<duckdb::timestamp_ns_t>().value);
    case TypeId::kString: return spec::Value(duckdb::StringValue::Get(value));
    case TypeId::kUuid: {
      auto uuid = Uuid::Parse(value.ToString());
      return uuid ? std::optional<spec::Value>(*uuid) : std::nullopt;
    }
    case TypeId::kFixed:
    case TypeId::kBinary: return spec::Value(CopyBytes(AsBytes(duckdb::StringValue::Get(value))));
    default: return std::nullopt;
  }
}

std::string SqlTypeName(const LogicalType& type) { return duckdb::StringUtil::Lower(type.ToString()); }

}  // namespace frazil::sql
