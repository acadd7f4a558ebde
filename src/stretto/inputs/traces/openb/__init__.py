"""The openb GPU trace (Alibaba): its reader, the bundled fleet and the published protocol."""
