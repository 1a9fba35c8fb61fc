// What the contents of side-car files say; one function a format. Each leaves the file as its name has it where the content
// cannot be read, and tells why.
#pragma once

#include "isa-audit/device/side_file.h"

namespace isa_audit {

void read_tensile_index(const Bytes &content, SideFile &file, Problems &problems);
void read_miopen_database(const Bytes &content, SideFile &file, Problems &problems);
void read_rocfft_cache(const Bytes &content, SideFile &file, Problems &problems);
void read_aotriton_signature(const Bytes &content, SideFile &file, Problems &problems);
void read_aiter_table(const Bytes &content, SideFile &file, Problems &problems);

} // namespace isa_audit
