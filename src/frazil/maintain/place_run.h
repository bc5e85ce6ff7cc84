#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "frazil/base/result.h"

namespace frazil::maintain {

/// A path by its hash, and under which root.
struct KnownPlace {
  uint64_t hash = 0;
  uint32_t root = 0;
  uint32_t unused = 0;  ///< or what lies there would be written to the file
};

/// Among places that ascend by hash, each hash once; null: none.
const KnownPlace* FindPlace(std::span<const KnownPlace> places, uint64_t hash);

/// Places by ascending hash in a temporary file without a name, whose pages are the system's to drop. Immutable.
class PlaceRun {
 public:
  using Take = std::function<void(const KnownPlace&)>;

  /// `produce` tells the places, ascending, each hash once. `folder` empty: the system's for temporary files. kIo,
  /// kResourceExhausted (disk full) naming it.
  static Result<PlaceRun> Write(const std::string& folder, const std::function<void(const Take&)>& produce);
  ~PlaceRun();
  PlaceRun(PlaceRun&& other) noexcept;
  PlaceRun& operator=(PlaceRun&& other) noexcept;

  std::span<const KnownPlace> places() const { return places_; }

 private:
  explicit PlaceRun(std::span<const KnownPlace> places) : places_(places) {}

  std::span<const KnownPlace> places_;
};

}  // namespace frazil::maintain
