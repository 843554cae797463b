/** An object type with the members of an intersection, so that editors show them as one list. */
export type Flat<T> = { [K in keyof T]: T[K] };
