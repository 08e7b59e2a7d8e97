/* PyTorch's .pt and .pth files: shapes, types and storages of tensors from the pickle inside, which is read and
 * never executed. Both the zip form (PyTorch 1.6 and later, TorchScript too) and the older plain one. */
#ifndef PLIM_FORMAT_TORCH_FILE_H
#define PLIM_FORMAT_TORCH_FILE_H

#include "format/tensor_info.h"
#include "format/zip.h"

enum { PLIM__TORCH_MAX_PICKLE = 64 << 20 };

/* Whether the archive is one of PyTorch's: it has a data.pkl. */
bool plim__torch_is_archive(const plim__zip *zip);
/* Whether these first bytes of a file (24 are enough) are those of the plain form. */
bool plim__torch_is_plain(const unsigned char *start, size_t size);

/* Tells each tensor once. A storage's bytes are told with the first tensor that lies in it; more views of it
 * bring no bytes. Storages are checked against what the file really holds. */
plim_status plim__torch_list_archive(const plim__zip *zip, plim__tensor_visit visit, void *context, plim_error *error);
plim_status plim__torch_list_plain(int fd, const char *path, plim__tensor_visit visit, void *context,
                                   plim_error *error);

#endif
