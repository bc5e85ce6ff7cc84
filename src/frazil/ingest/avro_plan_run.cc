#include <algorithm>
#include <array>

#include "frazil/ingest/avro_plan.h"
#include "frazil/ingest/column_text.h"

namespace frazil::ingest {
namespace {

using Code = AvroOp::Code;

constexpr int64_t kMicrosPerDay = int64_t{24} * 3'600 * 1'000'000;
// Defaults of absent nested fields are no bytes of the record: a small one could ask for any amount of them.
constexpr int64_t kMaxFilledBytes = int64_t{64} << 20;

constexpr auto kPowersOfTen = [] {
  std::array<spec::Int128, 39> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

/// Runs the ops over one value. Failures stick to the decoder: what is appended after one is cut off by the caller.
class Runner {
 public:
  Runner(ByteView bytes, int64_t row) : in_(bytes), row_(row) {}

  void RunAll(const std::vector<AvroOp>& ops) {
    for (const AvroOp& op : ops) {
      if (!op.is_special) {
        Value(op);
      } else if (op.rewinds) {
        const format::AvroDecoder before = in_;
        Run(op);
        if (in_.ok()) in_ = before;
      } else {
        Run(op);
      }
    }
  }

  Status Finish() const {
    if (!in_.ok()) return tl::unexpected(Error(in_.error_code(), in_.error_text()));
    if (in_.remaining() > 0) {
      return Fail(ErrorCode::kCorruptData, "bytes are left behind the Avro value: {}", in_.remaining());
    }
    return {};
  }

 private:
  void Run(const AvroOp& op) {
    const bool is_null = op.is_union && in_.ReadBranch(op.num_branches) != op.value_branch;
    if (op.only_if_missing && op.column->length() > row_) {
      if (!is_null) in_.Skip(*op.node);
      return;
    }
    is_null ? Null(op) : Value(op);
  }

  void Value(const AvroOp& op);
  void Null(const AvroOp& op);
  void Fill(const AvroOp& op);
  void Text(const AvroOp& op);
  void Enum(const AvroOp& op);
  void Scaled(const AvroOp& op);
  void Time(const AvroOp& op);
  void Fixed(const AvroOp& op);
  void Decimal(const AvroOp& op);
  void UuidText(const AvroOp& op);
  void List(const AvroOp& op);
  void Map(const AvroOp& op);
  void CheckKeys(const ColumnBuffer& keys, int64_t first);
  void Refuse(std::string text) { in_.FailWith(ErrorCode::kInvalidArgument, std::move(text)); }

  format::AvroDecoder in_;
  int64_t row_;
  int64_t filled_bytes_ = 0;
};

void Runner::Value(const AvroOp& op) {
  switch (op.code) {
    case Code::kSkip: in_.Skip(*op.node); break;
    case Code::kEnter: RunAll(op.children); break;
    case Code::kNull: Null(op); break;
    case Code::kFill: Fill(op); break;
    case Code::kBoolean: op.column->AppendBoolean(in_.ReadBoolean()); break;
    case Code::kInt: op.column->Append<int32_t>(in_.ReadInt()); break;
    case Code::kIntToLong: op.column->Append<int64_t>(in_.ReadInt()); break;
    case Code::kIntToDouble: op.column->Append<double>(in_.ReadInt()); break;
    case Code::kLong: op.column->Append<int64_t>(in_.ReadLong()); break;
    case Code::kScaledLong: Scaled(op); break;
    case Code::kTime: Time(op); break;
    case Code::kFloat: op.column->Append<float>(in_.ReadFloat()); break;
    case Code::kFloatToDouble: op.column->Append<double>(in_.ReadFloat()); break;
    case Code::kDouble: op.column->Append<double>(in_.ReadDouble()); break;
    case Code::kString: Text(op); break;
    case Code::kBytes: op.column->AppendBytes(in_.ReadBytes()); break;
    case Code::kEnum: Enum(op); break;
    case Code::kFixed: Fixed(op); break;
    case Code::kFixedToBinary: op.column->AppendBytes(in_.ReadFixed(static_cast<size_t>(op.node->fixed_size))); break;
    case Code::kUuidText: UuidText(op); break;
    case Code::kDecimal: Decimal(op); break;
    case Code::kStruct:
      RunAll(op.children);
      op.column->CloseStruct();
      break;
    case Code::kList: List(op); break;
    case Code::kMap: Map(op); break;
  }
}

void Runner::Null(const AvroOp& op) {
  if (op.column == nullptr) {
    for (const AvroOp& child : op.children) {
      if (!child.only_if_missing || child.column->length() == row_) Null(child);
    }
    return;
  }
  const spec::Field& field = op.column->field();
  if (field.required) return Refuse(fmt::format("null in required column '{}'", field.name));
  op.column->AppendNull();
}

void Runner::Fill(const AvroOp& op) {
  const spec::Value& value = op.column->field().write_default;
  if (const auto* text = std::get_if<std::string>(&value)) filled_bytes_ += static_cast<int64_t>(text->size());
  if (const auto* bytes = std::get_if<Bytes>(&value)) filled_bytes_ += static_cast<int64_t>(bytes->size());
  if (filled_bytes_ > kMaxFilledBytes) return Refuse("defaults of absent fields outgrow the record");
  op.column->AppendValue(value);
}

void Runner::Text(const AvroOp& op) {
  const ByteView text = in_.ReadBytes();
  if (!IsUtf8(text)) return Refuse(fmt::format("text of column '{}' is not UTF-8", op.column->field().name));
  op.column->AppendBytes(text);
}

void Runner::Enum(const AvroOp& op) {
  const auto symbol = static_cast<uint64_t>(in_.ReadLong());
  if (!in_.ok()) return;
  const auto& symbols = op.node->symbols;
  if (symbol >= symbols.size()) {
    return in_.FailWith(ErrorCode::kCorruptData,
                        fmt::format("Avro enum has no such symbol: {}", static_cast<int64_t>(symbol)));
  }
  op.column->AppendBytes(AsBytes(symbols[symbol]));
}

void Runner::Scaled(const AvroOp& op) {
  const int64_t written = in_.ReadLong();
  int64_t value = 0;
  if (__builtin_mul_overflow(written, op.factor, &value)) {
    return Refuse(fmt::format("time of column '{}' is out of range: {}", op.column->field().name, written));
  }
  op.column->Append(value);
}

void Runner::Time(const AvroOp& op) {
  const int64_t written = in_.ReadLong();
  if (written < 0 || written >= kMicrosPerDay / op.factor) {
    return Refuse(fmt::format("time of day of column '{}' is out of range: {}", op.column->field().name, written));
  }
  op.column->Append(written * op.factor);
}

void Runner::Fixed(const AvroOp& op) {
  const ByteView raw = in_.ReadFixed(static_cast<size_t>(op.node->fixed_size));
  if (in_.ok()) op.column->AppendFixed(raw.data());
}

/// Two's complement, big-endian, of any length.
void Runner::Decimal(const AvroOp& op) {
  const ByteView raw = op.node->kind == format::AvroKind::kFixed
                           ? in_.ReadFixed(static_cast<size_t>(op.node->fixed_size))
                           : in_.ReadBytes();
  if (!in_.ok()) return;
  const bool is_negative = !raw.empty() && (std::to_integer<unsigned>(raw[0]) & 0x80) != 0;
  const auto sign = static_cast<std::byte>(is_negative ? 0xff : 0);
  const size_t extra = raw.size() > 16 ? raw.size() - 16 : 0;
  const auto is_sign = [&](std::byte byte) { return byte == sign; };
  unsigned __int128 bits = is_negative ? ~static_cast<unsigned __int128>(0) : 0;
  for (const std::byte byte : raw.subspan(extra)) bits = bits << 8 | std::to_integer<unsigned>(byte);
  const auto unscaled = static_cast<spec::Int128>(bits);
  const spec::Int128 limit = kPowersOfTen[static_cast<size_t>(op.column->field().type.precision())];
  if (!std::all_of(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(extra), is_sign) ||
      (unscaled < 0) != is_negative || unscaled >= limit || unscaled <= -limit) {
    return Refuse(fmt::format("decimal of column '{}' has more than {} digits", op.column->field().name,
                              op.column->field().type.precision()));
  }
  op.column->Append(unscaled);
}

void Runner::UuidText(const AvroOp& op) {
  const std::string_view text = in_.ReadString();
  if (!in_.ok()) return;
  const Result<Uuid> uuid = Uuid::Parse(text);
  if (!uuid) return Refuse(fmt::format("uuid of column '{}' is none: {}", op.column->field().name, text.substr(0, 64)));
  op.column->AppendFixed(uuid->bytes().data());
}

void Runner::List(const AvroOp& op) {
  const AvroOp& element = op.children[0];
  in_.ReadArray(*op.node->children[0], [&] { Run(element); });
  op.column->CloseList();
}

void Runner::Map(const AvroOp& op) {
  const AvroOp& value = op.children[0];
  ColumnBuffer& keys = op.column->child(0);
  const int64_t first = keys.length();
  while (int64_t count = in_.ReadItemCount(op.node->children[0]->min_size_bytes + 1)) {
    for (; count > 0 && in_.ok(); --count) {
      const ByteView key = in_.ReadBytes();
      if (!IsUtf8(key)) return Refuse(fmt::format("key of map '{}' is not UTF-8", op.column->field().name));
      keys.AppendBytes(key);
      Run(value);
    }
  }
  if (in_.ok() && keys.length() - first > 1) CheckKeys(keys, first);
  op.column->CloseList();
}

/// Engines disagree on which of two equal keys counts, and some refuse to read such a map.
void Runner::CheckKeys(const ColumnBuffer& keys, int64_t first) {
  std::vector<std::string_view> sorted;
  for (int64_t i = first; i < keys.length(); ++i) sorted.push_back(AsText(keys.bytes_at(i)));
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) Refuse(fmt::format("a map has a key twice: {}", twice->substr(0, 64)));
}

}  // namespace

Status AvroPlan::Run(ByteView bytes, int64_t row) const {
  Runner runner(bytes, row);
  runner.RunAll(ops_);
  return runner.Finish();
}

}  // namespace frazil::ingest
