#pragma once

namespace frazil {

/// Tells the C library to give memory back that was freed, for processes that run long under a memory limit. Threads that
/// come and go with batches would each leave an arena with what they once needed, and large buffers on the heap would keep
/// it from shrinking: four pipelines took half as much again as --memory-limit. To be called before threads are started.
void KeepFreedHeapSmall();

}  // namespace frazil
