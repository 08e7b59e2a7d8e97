import java.util.ArrayList;

public class Heap {
    public static void main(String[] args) {
        ArrayList<byte[]> held = new ArrayList<>();
        int count = Integer.parseInt(args[0]);
        for (int i = 0; i < count; i++) held.add(new byte[1 << 20]);
        System.out.println("held " + held.size());
    }
}
