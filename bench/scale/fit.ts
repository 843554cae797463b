import type { Point } from "./subject.ts";

/** Small sizes cost what every call costs; growth shows in the upper part. */
const UPPER_PART = 1 / 8;

/**
 * The power with which cost grows: 1 is a straight line, 2 is quadratic. The slope of the line of least squares through the
 * logarithms of the points from an eighth of the largest size up.
 *
 * @param points At least two sizes.
 * @returns The exponent.
 */
export function fitExponent(points: readonly Point[]): number {
  const largest = Math.max(...points.map(({ size }) => size));
  const upper = points.filter(({ size }) => size >= largest * UPPER_PART);
  const x = upper.map(({ size }) => Math.log(size));
  const y = upper.map(({ ms }) => Math.log(ms));
  const [meanX, meanY] = [mean(x), mean(y)];
  const covariance = x.reduce((sum, value, i) => sum + (value - meanX) * (y[i] - meanY), 0);
  const variance = x.reduce((sum, value) => sum + (value - meanX) ** 2, 0);
  return covariance / variance;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
