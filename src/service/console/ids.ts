/** Whether a part of an address can be the id of a run or an order. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text);
