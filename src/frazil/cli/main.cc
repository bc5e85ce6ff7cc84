#include "frazil/base/sync_point.h"
#include "frazil/cli/program.h"

int main(int argc, char** argv) {
  frazil::SyncPoint::ArmFromEnvironment();
  return frazil::cli::RunProgram(argc, argv);
}
