#pragma once

#include <memory>
#include <string>

#include "frazil/base/result.h"
#include "frazil/sql/lexical_grammar.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

/// The tree of a text by the rule `Rule`, of the nodes that `Selected` wants; null when its leading words are of nothing
/// that the rule knows. kInvalidArgument "expected ... at line:column" when they are and the rest does not follow.
template <typename Rule, template <typename...> class Selected>
Result<std::unique_ptr<grammar::Node>> ParseTree(const std::string& source) {
  namespace peg = tao::pegtl;
  peg::memory_input<> input(source, "");
  try {
    return peg::parse_tree::parse<Rule, Selected, peg::nothing, grammar::Control>(input);
  } catch (const peg::parse_error& error) {
    const auto& place = error.positions().front();
    return Fail(ErrorCode::kInvalidArgument, "expected {} at {}", error.message(), PlaceOf(source, place.byte));
  }
}

}  // namespace frazil::sql
