#include "frazil/base/heap_settings.h"

#include <malloc.h>

namespace frazil {

void KeepFreedHeapSmall() {
#ifdef __GLIBC__
  constexpr int kArenas = 2;
  constexpr int kMappedFromBytes = 4 << 20;  // a fixed limit: by itself it would grow to 32 MB
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kMappedFromBytes);
#endif
}

}  // namespace frazil
