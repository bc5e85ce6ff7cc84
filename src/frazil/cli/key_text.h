#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"

namespace frazil::cli {

/// One `name=value` of `--key`.
struct KeyPart {
  std::string name;
  std::string value;  ///< quotes undone
  bool operator==(const KeyPart&) const = default;
};

/// Takes "a=1,b='x, y'" apart. Values and names may stand in single or double quotes, a quote inside doubled; what is
/// not quoted ends at the next comma, blanks around it do not count. kInvalidArgument with the text.
Result<std::vector<KeyPart>> ParseKeyText(std::string_view text);

/// A key's value for an identifier field.
struct KeyValue {
  spec::Field field;
  spec::Value value;
};

/// The parts as values of all identifier fields of `schema`, each once, in the order of the parts. kInvalidArgument
/// naming the table and what is missing, unknown (with the nearest name), repeated, or not a value of the field's type.
/// Names are found as in SQL, whatever their case; decimals may have an exponent, as they are printed where they are small.
Result<std::vector<KeyValue>> KeyOf(const std::vector<KeyPart>& parts, const spec::Schema& schema,
                                    const std::string& table);

}  // namespace frazil::cli
