/**
 * The line that lies nearest to points (least squares).
 *
 * @param points `[x, y]`.
 * @returns Growth of y for each 1 of x, and y at 0; both 0 without two different x.
 */
export function fitLine(
  points: readonly (readonly [number, number])[],
): { slope: number; intercept: number } {
  const n = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n;
  let xy = 0, xx = 0;
  for (const [x, y] of points) {
    xy += (x - meanX) * (y - meanY);
    xx += (x - meanX) ** 2;
  }
  if (!(xx > 0)) return { slope: 0, intercept: n === 0 ? 0 : meanY };
  return { slope: xy / xx, intercept: meanY - (xy / xx) * meanX };
}
