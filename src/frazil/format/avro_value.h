#pragma once

#include <functional>

#include "frazil/base/result.h"
#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_encoder.h"
#include "frazil/spec/type.h"

namespace frazil::format {

using AvroValueReader = std::function<spec::Value(AvroDecoder&)>;

/// Reader of one primitive value as the file has it (spec section 7.2): the Avro type decides the kind of the value.
/// kInvalidTable for what cannot be a partition value.
Result<AvroValueReader> MakeAvroValueReader(const AvroNode& node);

/// The value in the form that `type` has today. A column may have been promoted since the file was written (int to long,
/// float to double), and some writers use long where int would do. A value that does not fit is returned as it is.
spec::Value ToFormOf(const spec::Type& type, spec::Value value);

/// Appends a non-null value of `type` as WriteAvroSchema declares it. kInvalidArgument when the value is of another kind.
Status EncodeAvroValue(const spec::Type& type, const spec::Value& value, AvroEncoder& encoder);

}  // namespace frazil::format
