#include "base/ids.h"
