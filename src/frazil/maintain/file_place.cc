#include "frazil/maintain/file_place.h"

#include <algorithm>

#include "frazil/base/bytes.h"
#include "frazil/base/hash.h"
#include "frazil/spec/ascii.h"

namespace frazil::maintain {
namespace {

int HexDigit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

/// Decoded until nothing changes, so that a path, its encoding and the encoding of that all come out as one.
std::string Decoded(std::string_view text) {
  std::string now(text);
  for (;;) {
    std::string next = PercentDecoded(now);
    if (next == now) return now;
    now = std::move(next);
  }
}

std::string WithSingleSlashes(std::string_view path) {
  std::string clean;
  for (const char letter : path) {
    if (letter == '/' && clean.ends_with('/')) continue;
    clean += letter;
  }
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  return clean;
}

}  // namespace

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_code =
        text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0;
    if (is_code) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

FilePlace PlaceOf(std::string_view location) {
  FilePlace place;
  const size_t colon = location.find(':');
  const size_t slash = location.find('/');
  std::string_view rest = location;
  if (colon != std::string_view::npos && colon > 0 && (slash == std::string_view::npos || colon < slash)) {
    place.scheme = std::string(location.substr(0, colon));
    std::transform(place.scheme.begin(), place.scheme.end(), place.scheme.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    rest = location.substr(colon + 1);
    if (rest.starts_with("//") && place.scheme == "file") {
      rest.remove_prefix(2);  // a local file has no host
      if (const size_t path = rest.find('/'); path != std::string_view::npos && path > 0) rest = rest.substr(path);
    } else if (rest.starts_with("//")) {
      rest.remove_prefix(2);
      const size_t path = std::min(rest.find('/'), rest.size());
      place.authority = std::string(rest.substr(0, path));
      rest = rest.substr(path);
    }
  }
  place.path = WithSingleSlashes(Decoded(rest));
  if (!place.path.starts_with('/')) place.path.insert(0, "/");
  return place;
}

bool HasDots(const FilePlace& place) {
  const std::string path = place.path + "/";
  return path.find("/./") != std::string::npos || path.find("/../") != std::string::npos;
}

bool IsInside(const FilePlace& place, const FilePlace& folder) {
  if (folder.path == "/" || place.path == folder.path) return true;
  return place.path.size() > folder.path.size() && place.path.starts_with(folder.path) &&
         place.path[folder.path.size()] == '/';
}

EqualNames::EqualNames(const std::map<std::string, std::string>& given,
                       const std::map<std::string, std::string>& defaults) {
  for (const auto* map : {&given, &defaults}) {
    for (const auto& [list, target] : *map) {
      size_t begin = 0;
      while (begin <= list.size()) {
        const size_t end = std::min(list.find(',', begin), list.size());
        std::string name = list.substr(begin, end - begin);
        std::erase(name, ' ');
        if (!name.empty()) names_.emplace(std::move(name), target);
        begin = end + 1;
      }
    }
  }
}

const std::string& EqualNames::Resolve(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? name : found->second;
}

uint64_t PlaceHash(const FilePlace& place) { return HashKey(AsBytes(place.path), 0).high; }

}  // namespace frazil::maintain
