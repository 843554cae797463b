/** A place in the sources. */
export interface SourcePlace {
  /** Relative to the project. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** A value of the slice: it is made when it is first asked for. */
export interface SliceUnit extends SourcePlace {
  /** What messages call it. */
  readonly label: string;
  /** Whether it is a declaration, and not an expression or a name of a package. */
  readonly isNamed?: boolean;
  /** The name that the value is exported under; none when it is not exported. */
  readonly exportedAs?: string;
}

/** What the slice may touch but must not have: it is told when it happens, since most of it never does. */
export interface SliceGuard extends SourcePlace {
  readonly message: string;
}

/** A package that the slice imports from. */
export interface SlicePackage extends SourcePlace {
  /** As it is written, or without registry and version where it is reached through other files. */
  readonly specifier: string;
  /** Absolute path of the file that imports it. */
  readonly from: string;
}

/** A part of a program as one function in JavaScript. */
export interface Slice {
  /**
   * The source of `(unit, guard, member) => getters`: `unit(index, make)` gives a getter of the value, `guard(index)` throws,
   * `member(index, name)` is a name of a package, the whole of it for an empty name.
   */
  readonly code: string;
  readonly units: readonly SliceUnit[];
  readonly guards: readonly SliceGuard[];
  readonly packages: readonly SlicePackage[];
}
