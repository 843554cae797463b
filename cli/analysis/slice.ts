/** A location in the sources. */
export interface SourceLocation {
  /** Relative to the project. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
}

/** An expression in the sources whose value the slice has. */
export interface SliceUse extends SourceLocation {
  /** The index of its unit. */
  readonly unit: number;
}

/** A value of the slice, which is created on first use. */
export interface SliceUnit extends SourceLocation {
  /** The name in messages. */
  readonly label: string;
  /** True for a declaration; false for an expression or an export of a package. */
  readonly isNamed?: boolean;
  /** The name of the export, if the value is exported. */
  readonly exportedAs?: string;
}

/**
 * Code that the slice refers to but must not run. It is reported only if it runs, which is rare.
 */
export interface SliceGuard extends SourceLocation {
  readonly message: string;
}

/** A package that the slice imports. */
export interface SlicePackage extends SourceLocation {
  /**
   * The specifier as in the import; without registry and version if it was resolved through other
   * files.
   */
  readonly specifier: string;
  /** Absolute path of the importing file. */
  readonly from: string;
}

/** A part of a program as one JavaScript function. */
export interface Slice {
  /**
   * The body of a function that returns `(unit, guard, member) => getters`. `unit(index, make)` returns a getter of the
   * value, `guard(index)` throws, and `member(index, name)` returns an export of a package, or its
   * namespace for an empty name.
   */
  readonly code: string;
  readonly units: readonly SliceUnit[];
  readonly guards: readonly SliceGuard[];
  readonly packages: readonly SlicePackage[];
}
