/** OIDs of the numeric types. */
export const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);
