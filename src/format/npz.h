/* NumPy's .npz files: a zip archive of .npy files, of which only the headers are read. */
#ifndef PLIM_FORMAT_NPZ_H
#define PLIM_FORMAT_NPZ_H

#include "format/npy.h"
#include "format/tensor_info.h"
#include "format/zip.h"

/* The header of one entry, checked against the entry's size. */
plim_status plim__npz_read_header(const plim__zip *zip, const plim__zip_entry *entry, plim__npy_header *header,
                                  plim_error *error);
/* Every array of the archive; entries that are not .npy files are refused. */
plim_status plim__npz_list(const plim__zip *zip, plim__tensor_visit visit, void *context, plim_error *error);
/* What an .npy header says, as a tensor. */
plim__tensor_info plim__npy_tensor_info(const plim__npy_header *header, const char *name);

#endif
