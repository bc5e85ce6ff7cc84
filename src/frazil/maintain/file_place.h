#pragma once

#include <map>
#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil::maintain {

/// Where a file lies, in one spelling: listings and metadata write the same file as `s3://b//k`, `s3a://b/k`,
/// `file:/k`, `/k` or percent-encoded (maintenance.md section 5 rule 4). Two files whose names differ in nothing but that
/// count as one, which only ever keeps a file.
struct FilePlace {
  std::string scheme;     ///< lower case; empty: not said
  std::string authority;  ///< bucket or host; empty: not said
  std::string path;       ///< decoded, without doubled or trailing slashes
  auto operator<=>(const FilePlace&) const = default;

  std::string root() const { return scheme + "://" + authority; }
};

FilePlace PlaceOf(std::string_view location);

/// `%41` becomes `A`, once; what is no code stays.
std::string PercentDecoded(std::string_view text);

/// Goes through `.` or `..`, so names another place than it seems to.
bool HasDots(const FilePlace& place);

/// Whether `place` is the folder or in it, by path alone.
bool IsInside(const FilePlace& place, const FilePlace& folder);

/// Names that stand for one: {"s3a": "s3"}.
class EqualNames {
 public:
  /// Keys may list several names: {"s3a,s3n": "s3"} (spec section 9.5). `defaults` hold beside those given.
  explicit EqualNames(const std::map<std::string, std::string>& given,
                      const std::map<std::string, std::string>& defaults = {});
  const std::string& Resolve(const std::string& name) const;

 private:
  std::map<std::string, std::string> names_;
};

/// The hash by which sets of places know a path.
uint64_t PlaceHash(const FilePlace& place);

}  // namespace frazil::maintain
