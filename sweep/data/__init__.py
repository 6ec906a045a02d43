"""Data sets: readers by format, splits, and a memory-mapped cache that all trials of a machine share.

Runs in trial processes, ensemble workers and the ensemble host; the api process reads headers.

Modules:
    class_labels            Encodes the labels of a target column as class indices 0, 1, 2, …
    csv_reader              Reads CSV files in chunks: a header, then numbers
    data_cache              A disk cache of prepared arrays, written once for each machine and memory-mapped
    data_source_opener      Opens the source of `program.data`: a built-in data set, IDX files, or tabular files
    dataset_conversion      Converts the files of a data set to arrays in the cache, in chunks and in parallel
    idx_reader              Reads folders of IDX files, the format of MNIST, plain or gzip, in chunks
    mean_and_std            Computes mean and standard deviation of large arrays in chunks
    memory_mapped_datasets  Data sets in memory-mapped arrays that all trials of a machine share
    npz_reader              Reads `.npz` files in chunks, without pickle
    parquet_reader          Reads Parquet files in chunks, with pyarrow (an extra)
    prepare_dataset         Builds the cache of a data set in a process of its own: `python -P -m
                            podium.sweep.data.prepare_dataset CACHE`
    reader_interface        The interface of data file readers: a header, then rows in chunks
    splits                  Seeded, stratified splits and cross-validation folds
"""
