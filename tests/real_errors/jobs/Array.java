public class Array {
    public static void main(String[] args) { System.out.println(new long[Integer.MAX_VALUE].length); }
}
